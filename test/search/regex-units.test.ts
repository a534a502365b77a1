// The ranker `regex` at the limit of its patterns.
import { expect, test } from 'vitest'
import { rankers } from '../../src/rankers/index.ts'
import { office } from './tools.ts'

test('wire 20 a pattern may have 200 characters, and no more', async () => {
  expect(await rankers.regex(office, 'x'.repeat(200), 5)).toMatchObject({ hits: [] })
  await expect(rankers.regex(office, 'x'.repeat(201), 5)).rejects.toThrow(
    'has 201 characters; at most 200 are allowed',
  )
})
