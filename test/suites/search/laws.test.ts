// What holds for every ranker and every catalogue: limits, lists that change, foreign scripts, hidden characters and slips.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../../packages/testkit/src/any-text.ts'
import { runs } from '../../../packages/testkit/src/runs.ts'
import { createShelf, type PoolTool, rankers, type Tool } from '../../doors.ts'

const poolOf = (...tools: readonly Tool[]): readonly PoolTool[] => createShelf({ tools }).tools()
const described = (...descriptions: readonly string[]) =>
  poolOf(...descriptions.map((description, index) => ({ name: `t_${index}`, server: 's', description })))
const kinds = ['hybrid', 'lexical', 'bm25', 'classic'] as const
type Kind = (typeof kinds)[number]
const found = async (kind: Kind, tools: readonly PoolTool[], query: string, limit = 5) =>
  (await rankers[kind](tools, query, limit)).hits.map(({ tool }) => tool.original)

const words = ['send', 'mail', 'read', 'issue', 'issues', 'branch', 'calendar', 'event', 'list', 'delete']
const phrase = fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 6 }).map((all) => all.join(' '))

describe.each(kinds)('%s', (kind) => {
  it('S12 S13 takes any text: sound scores, best first, each tool once, the same every time', async () => {
    const text = anyText({ maxLength: 80 })
    await fc.assert(
      fc.asyncProperty(fc.array(text), text, fc.integer({ min: 1, max: 9 }), async (texts, query, limit) => {
        const tools = described('sends a mail', ...texts)
        const { hits, matched } = await rankers[kind](tools, query, limit)
        expect(hits.length).toBeLessThanOrEqual(Math.min(limit, matched))
        expect(new Set(hits.map(({ tool }) => tool)).size).toBe(hits.length)
        hits.forEach(({ score }, at) => {
          expect(Number.isFinite(score) && score <= (hits[at - 1]?.score ?? score)).toBe(true)
        })
        expect((await rankers[kind](tools, query, limit)).hits).toEqual(hits)
      }),
      { numRuns: runs(20) },
    )
  })

  it('S7 a list that gained and lost tools ranks like one that was never another', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(phrase, { minLength: 2, maxLength: 12 }),
        phrase,
        fc.nat(),
        async (texts, query, keep) => {
          const all = described(...texts)
          await found(kind, all, 'mail')
          const kept = all.filter((_, index) => (keep >> index) % 2 === 0)
          const fresh = poolOf(
            ...kept.map(({ definition, server = '', original }) => ({
              ...{ name: original, server, description: String(definition.description) },
            })),
          )
          expect(await found(kind, kept, query)).toEqual(await found(kind, fresh, query))
        },
      ),
      { numRuns: runs(20) },
    )
  })
})

it('S7 a smaller limit finds the first of a larger one, in a catalogue of thousands', async () => {
  const tools = described(
    ...Array.from(
      { length: 3000 },
      (_, at) => `${words[at % 10]} ${words[(at * 7) % 9]} ${words[at % 3]} n${at}`,
    ),
  )
  for (const query of ['list issues', 'send mails and read events of n77', 'n5 brnch calendar', 'issue']) {
    const all = await found('lexical', tools, query, 500)
    for (const limit of [1, 20, 200])
      expect(await found('lexical', tools, query, limit)).toEqual(all.slice(0, limit))
  }
  expect(await found('lexical', described('alike', 'alike', 'alike'), 'alike', 2)).toEqual(['t_0', 't_1'])
})

it.each([
  ['词', 't_0'],
  ['搜索', 't_0'],
  ['поиск', 't_1'],
  ['reserver zurich', 't_2'],
  ['ｚｕｒｉｃｈ', 't_2'],
  ['เอกสาร', 't_3'],
  ['🌧', 't_4'],
  ['sl\u200back se\u200dnd', 't_5'],
  ['for\u00adecast', 't_4'],
  ['\u202eslack\u202c', 't_5'],
  ['thernostad', 't_6'],
])('S12 S14 other scripts, hidden characters and slips: %s', async (query, name) => {
  const tools = described(
    ...['使用必应搜索指定的关键词', 'Поиск по базе знаний', 'Réserver une chambre à Zürich', 'ค้นหาเอกสาร'],
    ...['Reads the fore\u200bcast 🌧', 'Sends to slack.', 'Sets the thermostat.'],
  )
  for (const kind of ['hybrid', 'lexical'] as const)
    expect((await found(kind, tools, query, 1))[0]).toBe(name)
})

it('S7 S8 a few tools are searched by meaning as well, and have nothing for what they do not do', async () => {
  const tools = described(
    ...[
      'Creates new entities in the knowledge graph.',
      'Adds new observations to entities of the knowledge graph.',
    ],
    ...['Deletes entities and their relations.', 'Reads the whole knowledge graph.'],
  )
  expect((await found('hybrid', tools, 'remember a fact'))[0]).toBe('t_1')
  for (const query of ['play some jazz', 'order a pizza', 'xyzzy quux'])
    expect(await found('hybrid', tools, query)).toEqual([])
})

it.each(['Lösche nichts, zeige die Zweige', 'ne supprime rien, affiche les branches', '不要删除，列出分支'])(
  'S18 who forbids in another language gets what only looks: %s',
  async (query) => {
    const tools = poolOf(
      { name: 'delete_branch', server: 'git', description: 'Deletes a branch from the list.' },
      { name: 'list_branches', server: 'git', description: 'Lists branches.' },
    )
    expect((await found('hybrid', tools, query))[0]).toBe('list_branches')
  },
)
