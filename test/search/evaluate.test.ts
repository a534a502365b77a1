// The metrics, on an example computed by hand.
import { describe, expect, test } from 'vitest'
import type { PoolTool, Rank } from '../../packages/core/src/index.ts'
import { evaluate, interval, measureRanking } from '../../packages/core/src/search/evaluate.ts'
import { toolsOf } from './tools.ts'

const letters = [...'abcdefghijkl']
const tools = toolsOf(...letters.map((name) => ({ name, server: name < 'g' ? 'one' : 'two' })))

/** Ranks the letters of the query first, in their order, then nothing. */
const spelled: Rank = (candidates, query) => {
  const hits = [...query].flatMap((name) => {
    const tool = candidates.find((one) => one.name === name)
    return tool ? [{ tool, score: 1 }] : []
  })
  return { hits, matched: hits.length }
}

const measure = (ranking: string, gold: string, acceptable = '') =>
  measureRanking([...ranking], new Set(gold), new Set(acceptable))

describe('one ranking', () => {
  test('two golds at places 1 and 4', () => {
    // gain 1/log2(2) + 1/log2(5) = 1.43068, ideal 1/log2(2) + 1/log2(3) = 1.63093
    const { r1, r3, r5, r10, ndcg10, mrr10, all5 } = measure('axxbx', 'ab')
    expect({ r1, r3, r5, r10, mrr10, all5 }).toEqual({ r1: 0.5, r3: 0.5, r5: 1, r10: 1, mrr10: 1, all5: 1 })
    expect(ndcg10).toBeCloseTo(1.43068 / 1.63093, 4)
  })

  test('a gold at place 6 is not among five', () => {
    expect(measure('xxxxxa', 'a')).toMatchObject({ r5: 0, r10: 1, all5: 0, mrr10: 1 / 6 })
    expect(measure('xxxxxa', 'a').ndcg10).toBeCloseTo(1 / Math.log2(7), 10)
  })

  test('counts an acceptable tool in place of a gold that was not found, and only so many', () => {
    expect(measure('bx', 'a', 'b')).toMatchObject({ r1: 1, ndcg10: 1 })
    expect(measure('ab', 'a', 'b')).toMatchObject({ r1: 1, r10: 1, ndcg10: 1 })
    expect(measure('bc', 'a', 'bc').r10).toBe(1)
  })

  test('nothing found, and nothing below place 10', () => {
    const zero = { r1: 0, r3: 0, r5: 0, r10: 0, ndcg10: 0, mrr10: 0, all5: 0 }
    expect(measure('', 'a')).toEqual(zero)
    expect(measure('xxxxxxxxxxa', 'a')).toEqual(zero)
  })
})

describe('many queries', () => {
  test('means, kinds and scopes', async () => {
    const done: number[] = []
    const result = await evaluate(
      spelled,
      tools,
      [
        { query: 'ab', gold: ['a'], kind: 'first' },
        { query: 'ba', gold: ['a'], kind: 'second' },
        { query: 'agh', gold: ['g'], kind: 'second', scope: 'two' },
        { query: 'zz', gold: ['c'] },
      ],
      { progress: (count) => done.push(count) },
    )
    expect(result).toMatchObject({ n: 4, r1: 0.5, r3: 0.75, mrr10: (1 + 0.5 + 1) / 4 })
    expect(result.kinds).toMatchObject({ first: { n: 1, r1: 1 }, second: { n: 2, r1: 0.5, mrr10: 0.75 } })
    expect(done).toEqual([1, 2, 3, 4])
  })

  test('the same scope is the same list, so that indexes are kept', async () => {
    const seen = new Set<readonly PoolTool[]>()
    const rank: Rank = (candidates) => {
      seen.add(candidates)
      return { hits: [], matched: 0 }
    }
    const queries = ['a', 'b', 'c'].map((query) => ({ query, gold: ['a'], scope: 'one' }))
    await evaluate(rank, tools, queries)
    expect(seen.size).toBe(1)
  })

  test('a gold that is not in the catalogue is an error', async () => {
    await expect(evaluate(spelled, tools, [{ id: 'q7', query: 'a', gold: ['nowhere'] }])).rejects.toThrow(
      'q7: the query has the gold "nowhere", which is not in the catalogue',
    )
  })
})

test('intervals hold the mean, narrow with more values, and are the same each time', () => {
  const values = Array.from({ length: 100 }, (_, at) => at % 2)
  const [low, high] = interval(values)
  expect(low).toBeLessThan(0.5)
  expect(high).toBeGreaterThan(0.5)
  expect(interval(values)).toEqual([low, high])
  const [lower, higher] = interval([...values, ...values, ...values, ...values])
  expect(higher - lower).toBeLessThan(high - low)
  expect(interval([])).toEqual([0, 0])
})
