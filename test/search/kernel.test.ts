// The dense scan: the fast way equals the plain one, and its bytes are those of their source.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createDense, KERNEL } from '../../packages/core/src/search/vectors.ts'
import { runs } from '../../packages/testkit/src/runs.ts'

const vector = (dimensions: number) =>
  fc
    .array(fc.float({ min: -4, max: 4, noNaN: true }), { minLength: dimensions, maxLength: dimensions })
    .map((numbers) => Float32Array.from(numbers))

describe('the dense scan', () => {
  test('gives the same with and without WebAssembly', () => {
    const cases = fc
      .integer({ min: 1, max: 40 })
      .chain((dimensions) => fc.tuple(vector(dimensions), fc.array(vector(dimensions), { maxLength: 150 })))
    fc.assert(
      fc.property(cases, ([query, rows]) => {
        const fast = createDense(query.length)
        const plain = createDense(query.length, { plain: true })
        for (const row of rows) expect(fast.add(row)).toBe(plain.add(row))
        expect([...fast.scores(query)]).toEqual([...plain.scores(query)])
        const some = Uint32Array.from(rows.keys()).filter((row) => row % 3 !== 1)
        expect([...fast.scoresOf(some, query)]).toEqual([...plain.scoresOf(some, query)])
        const factors = Float32Array.from(rows, (row) => row[0]!)
        for (const dense of [fast, plain]) dense.stretch(factors)
        expect([...fast.scores(query, 0.3)]).toEqual([...plain.scores(query, 0.3)])
      }),
      { numRuns: runs(25) },
    )
  })

  test('chosen rows score as among all, in the order asked for', () => {
    const all = createDense(32)
    for (let row = 0; row < 200; row++)
      all.add(Float32Array.from({ length: 32 }, (_, i) => Math.sin(row + i * row)))
    const query = Float32Array.from({ length: 32 }, (_, i) => Math.cos(i))
    const scores = [...all.scores(query)]
    for (const rows of [[3, 199, 0], Array.from({ length: 150 }, (_, row) => 199 - row), [7], []])
      expect([...all.scoresOf(Uint32Array.from(rows), query)]).toEqual(rows.map((row) => scores[row]))
  })

  test('the largest numbers overflow nothing', () => {
    const ones = new Float32Array(256).fill(1)
    for (const plain of [false, true]) {
      const dense = createDense(256, { plain })
      dense.add(ones)
      dense.add(ones.map((value) => -value))
      expect([...dense.scores(ones)].map((score) => Math.round(score / 8))).toEqual([32, -32])
    }
  })

  test('scores are shifted and then stretched', () => {
    const dense = createDense(16)
    dense.add(new Float32Array(16).fill(0.5))
    dense.add(new Float32Array(16).fill(-0.25))
    dense.stretch(Float32Array.of(2, 4))
    const scores = dense.scores(new Float32Array(16).fill(1), 3)
    expect([...scores].map((score) => Math.round(score * 10) / 10)).toEqual([10, -28])
  })

  test('comes near the exact dot product, also after growing', () => {
    const rows = Array.from({ length: 300 }, (_, row) =>
      Float32Array.from({ length: 256 }, (_, i) => Math.sin(row * 31 + i * i) / 16),
    )
    const dense = createDense(256)
    for (const row of rows) dense.add(row)
    expect(dense.count).toBe(300)
    const scores = dense.scores(rows[7]!)
    rows.forEach((row, index) => {
      const exact = row.reduce((sum, value, i) => sum + value * rows[7]![i]!, 0)
      expect(Math.abs(scores[index]! - exact)).toBeLessThan(0.01)
    })
  })

  test('knows nothing when it is empty, and zero is zero', () => {
    const dense = createDense(20)
    expect(dense.scores(new Float32Array(20).fill(1))).toHaveLength(0)
    dense.add(new Float32Array(20))
    expect([...dense.scores(new Float32Array(20).fill(1))]).toEqual([0])
  })

  test('is what its source assembles', () => {
    const source = fileURLToPath(new URL('../../scripts/distil/kernel.mjs', import.meta.url))
    expect(execFileSync(process.execPath, [source], { encoding: 'utf8' }).trim()).toBe(KERNEL)
  })
})
