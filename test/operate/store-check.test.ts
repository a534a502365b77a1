// Readiness as far as the store decides it: it must answer once, and may be away for a while then.
import { expect, test } from 'vitest'
import { createReadiness, createStoreCheck } from '../../packages/server/src/operate/service.ts'

test('a gateway is not ready until the store has answered, nor when it has not for half a minute', async () => {
  let isAway = true
  let now = 0
  const ping = async () => {
    if (isAway) throw new Error('redis://secret@host refused')
  }
  const checks = [createStoreCheck({ ping }, { now: () => now })]
  const { report } = createReadiness({ checks, reuseMs: 0 })
  const reasons = async () => (await report()).body.reasons
  expect(await reasons()).toEqual(['store unreachable'])
  isAway = false
  expect(await reasons()).toEqual([])
  isAway = true
  now += 30_000
  expect(await reasons()).toEqual([])
  now += 1
  expect(await reasons()).toEqual(['store unreachable'])
  isAway = false
  expect(await reasons()).toEqual([])
  isAway = true
  now += 30_000
  expect(await reasons()).toEqual([])
})
