// Generates any number of made-up tools and three-word queries, the same ones each time: for speed and memory, not for quality.
import type { PoolTool, Tool } from '../packages/core/src/index.ts'
import { poolTools } from '../packages/core/src/search/evaluate.ts'

const words = (text: string) => text.trim().split(/\s+/)

const VERBS = words(
  'get list create update delete search send fetch export import sync archive approve assign cancel clone close count download enable invite merge move publish rename reopen schedule share start stop tag upload validate watch',
)
const OBJECTS = words(
  'issue ticket message channel file folder document invoice payment customer order product user team project task comment branch commit release deployment cluster node metric alert dashboard report query table record contact deal campaign template event meeting calendar note page space board card label milestone webhook secret token key policy role group device sensor image video track playlist article feed account transaction budget quote price currency shipment warehouse route location map review rating survey form answer lesson course exam grade recipe ingredient menu booking room flight hotel car trip',
)
const QUALITIES = words(
  'active archived internal external shared private public recent failed pending monthly daily custom default nested linked primary secondary remote local draft final open closed large small',
)
const GLUE = words('the of a in for by with from to and or that which when on as its each all given')
const SYLLABLES = words(
  'ka lo mi ra tu ne so vi pa do gre sta bri clo fen gul har jex kol mun nor pel qua rin sol tav',
)

export type Synthetic = { readonly tools: PoolTool[]; readonly queries: string[] }

export function synthetic(count: number): Synthetic {
  const random = generator(count)
  const pick = <Item>(list: readonly Item[]): Item => list[Math.floor(random() ** 1.5 * list.length)]!
  const rare = () => pick(SYLLABLES) + pick(SYLLABLES) + pick(SYLLABLES)
  const servers = Array.from({ length: Math.max(8, Math.ceil(count / 40)) }, rare)
  const sentence = (length: number) =>
    Array.from({ length }, (_, index) => {
      if (index % 3 === 1) return pick(GLUE)
      return random() < 0.12 ? rare() : pick(random() < 0.6 ? OBJECTS : random() < 0.5 ? QUALITIES : VERBS)
    }).join(' ')
  const tools = Array.from({ length: count }, (_, index): Tool => {
    const server = servers[index % servers.length]!
    const name = [pick(VERBS), pick(QUALITIES), pick(OBJECTS)].slice(random() < 0.5 ? 0 : 1).join('_')
    const properties: Record<string, object> = {}
    for (let argument = 0; argument < 3; argument++)
      properties[`${pick(OBJECTS)}_${pick(['id', 'name', 'type', 'limit', 'filter'])}`] = {
        type: 'string',
        description: sentence(6),
      }
    const description = `${sentence(14)}.`
    return {
      name: `mcp__${server}__${name}_${index}`,
      description,
      server,
      input_schema: { type: 'object', properties },
    }
  })
  const queries = Array.from({ length: 200 }, () => `${pick(servers)} ${pick(VERBS)} ${pick(OBJECTS)}`)
  return { tools: poolTools(tools), queries }
}

/** Returns a generator of pseudo-random numbers from 0 to 1, always the same. */
export function generator(seed: number): () => number {
  let state = (seed * 2654435761 + 1) >>> 0
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}
