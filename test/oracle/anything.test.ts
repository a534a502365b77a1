// Whatever JSON comes in, the oracle answers.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  countTokens,
  renderRequest,
  signThinking,
  validateRequest,
  visibleTools,
} from '../../src/core/oracle/index.ts'
import { runs } from '../support/runs.ts'
import { assistant, request, result, text, tool, use, user } from './requests.ts'

const words = [
  ...['text', 'tool_use', 'tool_result', 'tool_reference', 'server_tool_use', 'tool_search_tool_result'],
  ...[
    'thinking',
    'tool_addition',
    'tool_removal',
    'tool_definition',
    'user',
    'assistant',
    'system',
    'custom',
  ],
  ...['computer_toolset_20260801', 'mcp_toolset', 'object', 'a', 'b', '', ' ', '__proto__', 'constructor'],
]
const fields = [
  ...[
    'type',
    'role',
    'content',
    'text',
    'id',
    'name',
    'input',
    'tool_use_id',
    'tool_name',
    'tool',
    'definition',
  ],
  ...[
    'tool_references',
    'defer_loading',
    'cache_control',
    'input_schema',
    'configs',
    'clear_at',
    'signature',
  ],
  ...['output_config', 'thinking', '__proto__', 'constructor'],
]
const { block, list } = fc.letrec<{ value: unknown; block: unknown; list: unknown[] }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<unknown>(...words),
    fc.constantFrom<unknown>(null, true, false, 0, -1, 1e308),
    tie('block'),
    tie('list'),
  ),
  block: fc.dictionary(fc.constantFrom(...fields), tie('value'), { maxKeys: 6 }),
  list: fc.array(tie('value'), { maxLength: 3 }),
}))
const message = fc.record({
  role: fc.constantFrom<unknown>('user', 'assistant', 'system', null),
  content: fc.oneof(list, fc.array(block, { maxLength: 3 }), fc.constantFrom<unknown>('x', '', null, 1)),
})
const nearlyRequest = fc.record(
  {
    tools: fc.oneof(list, fc.array(block)),
    system: fc.oneof(list, block),
    messages: fc.array(fc.oneof(message, block), { maxLength: 4 }),
  },
  { requiredKeys: [] },
)
const parsed = fc
  .oneof(fc.jsonValue(), nearlyRequest)
  .map((value) => JSON.parse(JSON.stringify(value)) as unknown)

function askEverything(value: unknown): void {
  validateRequest(value)
  validateRequest(value, { bindsThinking: true, betas: ['inline-tools-2026-09-15'] })
  validateRequest(value, { isOldProxy: true, betas: ['x'] })
  renderRequest(value)
  visibleTools(value)
  countTokens(value)
  signThinking(value)
}

describe('any JSON', () => {
  it('is answered, never thrown at', () => {
    fc.assert(fc.property(parsed, askEverything), { numRuns: runs(50) })
  })

  it('is refused if it is not a request', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => validateRequest(value)?.status === 400))
  })

  it('may be very deep or very wide', () => {
    const deep = JSON.parse('['.repeat(5000) + ']'.repeat(5000)) as unknown
    askEverything(deep)
    askEverything(
      request([tool('a', { input_examples: deep })], user(result('c', deep), { type: 'x', deep })),
    )
    const wide = Array.from({ length: 130_000 }, () => text('x'))
    const value = request(
      [tool('a')],
      { role: 'user', content: wide },
      assistant(use('c')),
      user(result('c', wide)),
    )
    expect(renderRequest(value).length).toBeGreaterThan(260_000)
    expect(validateRequest(value)).toBeUndefined()
  })

  it('is left as it was', () => {
    const value = request([tool('a')], user(text('hi')), assistant(use('c')), user(result('c')))
    const before = JSON.stringify(value)
    askEverything(value)
    expect(JSON.stringify(value)).toBe(before)
  })
})
