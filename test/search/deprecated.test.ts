// Deprecated tools rank behind their successors, in every ranker of ours, and nothing else moves.
import { describe, expect, it } from 'vitest'
import { rankers, type Tool } from '../../src/index.ts'
import { mcp, quietShelf } from '../support/talk.ts'

const ours = ['hybrid', 'lexical', 'bm25', 'regex'] as const

const read = (more: Partial<Tool>) => mcp('files', 'read_file', { description: 'Read a file.', ...more })
const successor = mcp('files', 'read_text_file', { description: 'Read a text file, line by line.' })
const others = [
  mcp('files', 'move_file', { description: 'Move a file.' }),
  mcp('notes', 'read_file', { description: 'Read a file of notes.' }),
]

async function found(rank: keyof typeof rankers, tools: readonly Tool[], query = 'read file', limit = 5) {
  const { tools: entries } = quietShelf({ tools }).partition().pool
  const { hits } = await rankers[rank](entries, rank === 'regex' ? 'file' : query, limit)
  return hits.map(({ tool, score }) => ({ name: `${tool.server}/${tool.original}`, score }))
}

const namesOf = async (...given: Parameters<typeof found>) => (await found(...given)).map(({ name }) => name)

describe.each(ours)('%s', (rank) => {
  it.each<[string, Partial<Tool>]>([
    ['at the start of its description', { description: 'DEPRECATED: use read_text_file. Read a file.' }],
    ['in its second sentence', { description: 'Read a file. DEPRECATED: Use read_text_file instead.' }],
    ['in brackets', { description: '[Deprecated] Read a file. See `read_text_file`.' }],
    ['as a sentence', { description: '**This tool is deprecated.** Read a file.' }],
    ['in another language', { description: '⚠️ 已废弃，请改用 read_text_file。Read a file.' }],
    ['in its annotations', { annotations: { deprecated: true } }],
    ['in _meta', { _meta: { 'example.org/deprecated': 'since 2.0' } }],
    ['in its name', { name: 'read_file_deprecated' }],
  ])('S7 a tool that is deprecated %s ranks behind its successor', async (_, more) => {
    const names = await namesOf(rank, [read(more), successor, ...others])
    const [old] = names.filter((name) => /^files\/read_file/.test(name))
    expect(names.indexOf(old ?? '')).toBeGreaterThan(names.indexOf('files/read_text_file'))
    expect(names).toContain('files/read_text_file')
  })

  it('S7 all others keep their order, and scores only fall', async () => {
    const plain = await namesOf(rank, [read({}), successor, ...others])
    const hits = await found(rank, [read({ annotations: { deprecated: true } }), successor, ...others])
    const without = (names: readonly string[]) => names.filter((name) => name !== 'files/read_file')
    expect(without(hits.map(({ name }) => name))).toEqual(without(plain))
    const scoreOf = (wanted: string) => hits.find(({ name }) => name === wanted)?.score ?? 0
    expect(scoreOf('files/read_file')).toBeLessThanOrEqual(scoreOf('files/read_text_file'))
  })

  it('S7 a successor that is left out takes the place', async () => {
    const tools = [read({ annotations: { deprecated: true } }), successor]
    expect(await namesOf(rank, tools, 'read file', 1)).toEqual(['files/read_text_file'])
  })

  it('S7 without a successor it keeps its place', async () => {
    const old = read({ description: 'Deprecated. Read a file; see forget_it.' })
    expect(await namesOf(rank, [old, others[1]!])).toEqual(
      await namesOf(rank, [
        read({ description: old.description!.replace('Deprecated', 'Reliable') }),
        others[1]!,
      ]),
    )
  })
})

it('S6 classic is as specified', async () => {
  const [first] = await namesOf('classic', [read({ annotations: { deprecated: true } }), successor])
  expect(first).toBe('files/read_file')
})

it.each(['Finds deprecated calls in a file.', 'Prefer orderBy over the deprecated order_by of a file.'])(
  'S7 that a description speaks of something deprecated is no mark: %s',
  async (description) => {
    const names = await namesOf('lexical', [
      read({ description: `${description} read_text_file` }),
      successor,
    ])
    expect(names[0]).toBe('files/read_file')
  },
)

it('S7 a tool about deprecated things is not deprecated by its name', async () => {
  const tools = [mcp('npm', 'npmDeprecated'), mcp('npm', 'npmSearch', { description: 'npmDeprecated' })]
  expect((await namesOf('lexical', tools, 'npm deprecated'))[0]).toBe('npm/npmDeprecated')
})
