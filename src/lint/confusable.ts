// Rules about tools that a search confuses with others, judged by the ranker that answers searches.
import type { PoolTool, Rank } from '../core/index.ts'
import { fieldsOf, splitName, textOf, toJson } from '../lib/index.ts'
import type { ToolFinding } from './descriptions.ts'

/** The rankers that decide whether a search finds a tool. */
export type Judges = {
  /** What searches use. */
  readonly hybrid: Rank
  /** Much faster: tried first, and used alone for pools that are too large for the other. */
  readonly lexical: Rank
}

/** A tool counts as found if it is among this many first hits for its own words. */
const FOUND_WITHIN = 3
/** Tools times searches by the slower ranker: about ten seconds of work. */
const MAX_WORK = 8_000_000
const MAX_QUERY_LENGTH = 160
const MAX_NAMED = 3

/** Tools that a search confuses with others, and how many searches it took to know. */
export type Confusions = {
  readonly findings: ReadonlyMap<PoolTool, readonly ToolFinding[]>
  readonly searches: { readonly hybrid: number; readonly lexical: number }
}

/**
 * Searches each tool by its name in plain words and by the first sentence of its description. A tool that the lexical
 * ranker finds first counts as found; the others are searched again with the ranker that agents use.
 */
export async function findConfusions(
  tools: readonly PoolTool[],
  { hybrid, lexical }: Judges,
  isChecked: (tool: PoolTool) => boolean = () => true,
): Promise<Confusions> {
  const findings = new Map<PoolTool, ToolFinding[]>()
  const searches = { hybrid: 0, lexical: 0 }
  let left = Math.floor(MAX_WORK / Math.max(1, tools.length))

  /** Returns the tools found instead; undefined if it is found. */
  async function rivalsOf(tool: PoolTool, query: string): Promise<readonly PoolTool[] | undefined> {
    searches.lexical++
    const quick = hitsOf(await lexical(tools, query, FOUND_WITHIN))
    if (quick[0] === tool) return undefined
    if (left <= 0) return quick.includes(tool) ? undefined : quick
    left--
    searches.hybrid++
    const hits = hitsOf(await hybrid(tools, query, FOUND_WITHIN))
    return hits.includes(tool) ? undefined : hits
  }

  for (const tool of tools) {
    if (!isChecked(tool)) continue
    const found: ToolFinding[] = []
    for (const [rule, query] of [
      ['not-found-by-name', nameInWords(tool)],
      ['not-found-by-description', firstSentence(tool)],
    ] as const) {
      const rivals = query === '' ? undefined : await rivalsOf(tool, query)
      if (rivals) found.push({ rule, message: instead(rule, rivals) })
    }
    if (found.length > 0) findings.set(tool, found)
  }
  return { findings, searches }
}

function hitsOf({ hits }: Awaited<ReturnType<Rank>>): PoolTool[] {
  return hits.map(({ tool }) => tool)
}

function nameInWords({ server, original }: PoolTool): string {
  return [...(server === undefined ? [] : splitName(server)), ...splitName(original)]
    .join(' ')
    .slice(0, MAX_QUERY_LENGTH)
}

function firstSentence({ tool }: PoolTool): string {
  const text = textOf(tool.description).trim()
  const [sentence = ''] = text.split(/(?<=[.!?。])\s|\n/)
  return sentence.slice(0, MAX_QUERY_LENGTH)
}

function instead(
  rule: 'not-found-by-name' | 'not-found-by-description',
  rivals: readonly PoolTool[],
): string {
  const by = rule === 'not-found-by-name' ? 'the words of its name' : 'the first sentence of its description'
  const names = rivals.slice(0, MAX_NAMED).map(({ name }) => name)
  return `a search for ${by} finds ${names.length > 0 ? `${names.join(', ')} instead` : 'nothing'}`
}

/** Finds tools with the same description and the same parameters: whatever a model reads of them is the same. */
export function findTwins(tools: readonly PoolTool[]): Map<PoolTool, ToolFinding[]> {
  const groups = new Map<string, PoolTool[]>()
  for (const one of tools) {
    const description = textOf(one.tool.description).trim().toLowerCase().replace(/\s+/g, ' ')
    if (description === '') continue
    const key = `${description}\n${toJson(Object.keys(fieldsOf(parametersOf(one))).sort())}`
    const group = groups.get(key)
    if (group) group.push(one)
    else groups.set(key, [one])
  }
  const findings = new Map<PoolTool, ToolFinding[]>()
  for (const group of groups.values())
    for (const one of group.length > 1 ? group : []) {
      const others = group.filter((other) => other !== one).slice(0, MAX_NAMED)
      const rest = group.length - 1 - others.length
      const names = others.map(({ name }) => name).join(', ') + (rest > 0 ? ` and ${rest} more` : '')
      const message = `it has the same description and parameters as ${names}`
      findings.set(one, [{ rule: 'twins', message }])
    }
  return findings
}

function parametersOf({ tool }: PoolTool): unknown {
  return fieldsOf(tool.input_schema ?? tool.inputSchema).properties
}
