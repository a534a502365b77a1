// What is done with a request, decided from facts alone.
import { describe, expect, it } from 'vitest'
import { parseModeSetting } from '../../src/messages/index.ts'
import { type PlanFacts, planRequest } from '../../src/messages/plan.ts'

const many = { deferrable: 300, reachesShare: true, isRestored: false, exceeded: undefined }
const few = { deferrable: 3, reachesShare: false, isRestored: false, exceeded: undefined }

const facts = (mode: string, more: Partial<PlanFacts> = {}): PlanFacts => ({
  setting: parseModeSetting(mode)!,
  wire: { wire: 'append', why: 'it is old' },
  isPassable: true,
  isDeferring: false,
  shelving: many,
  ...more,
})

describe('the decision', () => {
  it.each<[string, PlanFacts, string, string]>([
    ['pass', facts('pass'), 'pass', 'asked for'],
    ['off', facts('off'), 'off', 'switched off'],
    [
      'emulate without deferral',
      facts('emulate', { shelving: undefined }),
      'pass',
      'the client defers nothing',
    ],
    ['shelve', facts('shelve', { shelving: few }), 'shelve', 'asked for; append: it is old'],
    ['many tools', facts('auto'), 'shelve', 'tools take 10 % of the window or more; append: it is old'],
    ['few tools', facts('auto', { shelving: few }), 'pass', 'the tools are few'],
    [
      'few tools that were shelved',
      facts('auto', { shelving: { ...few, isRestored: true } }),
      'shelve',
      'tools take 10 % of the window or more; append: it is old',
    ],
    [
      'few tokens, but more tools than the upstream takes',
      facts('auto', { shelving: { ...few, exceeded: 128 } }),
      'shelve',
      'the upstream allows 128 tools at most; append: it is old',
    ],
    ['auto:100', facts('auto:100'), 'pass', 'auto:100 shelves nothing'],
    [
      'nothing to defer',
      facts('shelve', { shelving: { ...few, deferrable: 0 } }),
      'pass',
      'no tool can be deferred',
    ],
    [
      'tools that cannot be shelved',
      facts('auto', { shelving: 'there are no tools' }),
      'pass',
      'there are no tools',
    ],
    [
      'a client that defers',
      facts('auto', { isDeferring: true }),
      'emulate',
      'the client defers; append: it is old',
    ],
    [
      'the same in front of a native API',
      facts('auto', { isDeferring: true, wire: { wire: 'native', why: 'it is new' } }),
      'pass',
      'the client defers; native: it is new',
    ],
    [
      'the same, emulation asked for',
      facts('emulate', { isDeferring: true, wire: { wire: 'native', why: 'it is new' } }),
      'emulate',
      'the client defers; native: it is new',
    ],
    [
      'few tools, nowhere to pass on to',
      facts('auto', { shelving: few, isPassable: false }),
      'off',
      'the tools are few',
    ],
  ])('%s', (_, given, mode, why) => {
    expect(planRequest(given)).toMatchObject({ mode, why })
  })
})
