// What the default ranker does with candidates once they have scores. The scores are given, as those of the encoder.
import { describe, expect, test } from 'vitest'
import type { Tool } from '../../src/index.ts'
import { editDistance } from '../../src/lib/index.ts'
import { createHybrid, poolTools } from '../../src/search/index.ts'

type Scored = readonly [name: string, score: number, more?: Partial<Tool>]

async function ranked(query: string, scored: readonly Scored[], limit = 10) {
  const tools = poolTools(scored.map(([name, , more]) => ({ name, description: '', ...more }) as Tool))
  const rank = createHybrid({
    vectors: undefined,
    model: async () => Float32Array.from(scored, ([, score]) => score),
  })
  const { hits, matched } = await rank(tools, query, limit)
  return { names: hits.map(({ tool }) => tool.name), scores: hits.map(({ score }) => score), matched }
}
const order = async (query: string, ...scored: Scored[]) => (await ranked(query, scored)).names

describe('who only wants to look', () => {
  const look = 'just look around'

  test.each<[string, Scored[], string[]]>([
    [
      'gets a reading tool first that fits',
      [
        ['delete_x', 0.9],
        ['list_y', 0.6],
      ],
      ['list_y', 'delete_x'],
    ],
    [
      'and no other',
      [
        ['delete_x', 0.9],
        ['update_z', 0.85],
        ['list_y', 0.6],
      ],
      ['list_y', 'delete_x', 'update_z'],
    ],
    [
      'none that fits much worse',
      [
        ['delete_x', 0.9],
        ['list_y', 0.35],
      ],
      ['delete_x', 'list_y'],
    ],
    [
      'whatever the first is that does no harm',
      [
        ['update_z', 0.9],
        ['list_y', 0.6],
      ],
      ['update_z', 'list_y'],
    ],
    [
      'also if the first is annotated as destructive',
      [
        ['update_z', 0.9, { annotations: { destructiveHint: true } }],
        ['list_y', 0.6],
      ],
      ['list_y', 'update_z'],
    ],
    [
      'but not where it only reads',
      [
        ['remove_x', 0.9, { annotations: { destructiveHint: true, readOnlyHint: true } }],
        ['list_y', 0.6],
      ],
      ['remove_x', 'list_y'],
    ],
  ])('%s', async (_, scored, names) => {
    expect(await order(look, ...scored)).toEqual(names)
  })

  test('finds it with the score of the tool that it replaces', async () => {
    const { scores } = await ranked(look, [
      ['delete_x', 0.9],
      ['list_y', 0.6],
    ])
    expect(scores[0]).toBe(scores[1])
  })

  test('is not somebody who wants both, or says nothing of it', async () => {
    const scored: Scored[] = [
      ['delete_x', 0.9],
      ['list_y', 0.6],
    ]
    for (const query of ['look and delete', 'around'])
      expect(await order(query, ...scored)).toEqual(['delete_x', 'list_y'])
  })

  test('nor somebody who says what must not happen, which counts by itself', async () => {
    const scored: Scored[] = [
      ['send_x', 0.9],
      ['list_y', 0.6],
    ]
    expect(await order("zap it, but don't send", ...scored)).toEqual(['list_y', 'send_x'])
    expect(await order('zap it, and send', ...scored)).toEqual(['send_x', 'list_y'])
  })
})

describe('who asks which things there are', () => {
  const which = 'which boats are there'

  test.each<[string, Scored[], string[]]>([
    [
      'gets the tool that lists all of them',
      [
        ['boat_keys', 0.9],
        ['list_boats', 0.6],
      ],
      ['list_boats', 'boat_keys'],
    ],
    [
      'not one that lists some',
      [
        ['boat_keys', 0.9],
        ['list_boats_by_owner', 0.8],
      ],
      ['boat_keys', 'list_boats_by_owner'],
    ],
    [
      'nor one that fits much worse',
      [
        ['get_boat', 0.9],
        ['list_boats', -1],
      ],
      ['get_boat', 'list_boats'],
    ],
  ])('%s', async (_, scored, names) => {
    expect((await order(which, ...scored))[0]).toBe(names[0])
  })
})

test('a name of a server in a few words is meant; in many it is a word', async () => {
  const scored: Scored[] = [
    ['mcp__boats__zap', 0.1],
    ['mcp__ships__zip', 0.9],
  ]
  const first = async (query: string) => (await order(query, ...scored))[0]
  expect(await first('the boats things')).toBe('mcp__boats__zap')
  expect(await first('go and bring the boats things over here')).toBe('mcp__ships__zip')
})

test('of the same tool on several servers three come before other tools', async () => {
  const twins = Array.from({ length: 5 }, (_, index): Scored => [`mcp__s${index}__zap`, 0.9 - index / 100])
  const other: Scored = ['mcp__t__other', 0.5]
  const names = twins.map(([name]) => name)
  expect(await order('around', ...twins, other)).toEqual([...names.slice(0, 3), other[0], ...names.slice(3)])
  const described = twins.map(([name, score], index): Scored => [name, score, { description: String(index) }])
  expect(await order('around', ...described, other)).toEqual([...names, other[0]])
  expect((await ranked('around', [...twins, other], 4)).names).toEqual([...names.slice(0, 3), other[0]])
})

test('a tool without a word of the query must mean something like it', async () => {
  const scored: Scored[] = [
    ['one', 0.31],
    ['two', 0.29],
    ['three', 0],
    ['around', 0],
  ]
  expect((await order('around', ...scored)).toSorted()).toEqual(['around', 'one'])
})

test('thirty by meaning are candidates at most, the best ones, and of equals the first', async () => {
  const scored = Array.from(
    { length: 45 },
    (_, index): Scored => [`t${index}`, index < 10 ? 0.5 : 0.6 + (index % 3) / 10],
  )
  const { names, matched } = await ranked('around', scored, 40)
  const best = scored.toSorted((a, b) => b[1] - a[1]).map(([name]) => name)
  expect([names, matched]).toEqual([best.slice(0, 40), 40])
  expect((await ranked('around', scored, 5)).names).toEqual(best.slice(0, 5))
  expect((await ranked('around', scored, 5)).matched).toBe(30)
})

test('the distance of two words is the number of changes, up to a limit', () => {
  /** The same, by trying everything. */
  const plain = (a: string, b: string): number => {
    if (a === '' || b === '') return Math.max(a.length, b.length)
    const replaced = plain(a.slice(1), b.slice(1)) + (a[0] === b[0] ? 0 : 1)
    const swapped =
      a[0] === b[1] && a[1] === b[0] && a.length > 1 && b.length > 1 ? plain(a.slice(2), b.slice(2)) + 1 : 99
    return Math.min(replaced, swapped, plain(a.slice(1), b) + 1, plain(a, b.slice(1)) + 1)
  }
  const words = ['', 'a', 'ab', 'ba', 'abc', 'acb', 'bca', 'abca', 'bacd', 'ccc', 'abdc']
  for (const a of words)
    for (const b of words)
      for (const limit of [0, 1, 2, 5])
        expect([a, b, limit, editDistance(a, b, limit)]).toEqual([
          a,
          b,
          limit,
          Math.min(plain(a, b), limit + 1),
        ])
})
