// One request with everything that the API knows: it is accepted, and what every single change of it leads to.
import { expect, it } from 'vitest'
import {
  countTokens,
  readingOf,
  renderRequest,
  type ValidateOptions,
  validateRequest,
  visibleTools,
  walkRequest,
  withoutUnknown,
} from '../../src/core/oracle/index.ts'
import type { Fields } from '../../src/lib/index.ts'
import { effects } from '../support/variants.ts'
import {
  assistant,
  deferred,
  found,
  reference,
  result,
  search,
  system,
  text,
  tool,
  use,
  user,
} from './requests.ts'

const mark = (more: Fields = {}) => ({ cache_control: { type: 'ephemeral', ...more } })
const thought = { type: 'thinking', thinking: 'Hm.', signature: 's' }
const png = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgoA' } }
const change = (type: string, name: string) => ({ type, tool: { type: 'tool_reference', name } })

const whole = {
  model: 'claude-opus-4-5',
  max_tokens: 4000,
  temperature: 1,
  stop_sequences: ['END'],
  thinking: { type: 'enabled', budget_tokens: 2000 },
  tool_choice: { type: 'auto' },
  system: [text('Be brief.', mark({ ttl: '1h' }))],
  tools: [
    { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' },
    tool('find', {
      input_schema: { type: 'object', properties: { a: { type: 'string', enum: ['x'] } }, required: ['a'] },
    }),
    deferred('mail', { input_examples: [{ mail_key: 'x' }] }),
    deferred('post'),
  ],
  messages: [
    user(text('hi'), png, {
      type: 'document',
      source: { type: 'text', media_type: 'text/plain', data: 'x' },
      ...mark(),
    }),
    assistant(
      thought,
      text('Looking.'),
      search('srvtoolu_1'),
      found('srvtoolu_1', 'mail'),
      use('toolu_1', 'mail'),
    ),
    user(result('toolu_1', [text('sent'), png]), text('And?')),
    assistant({ type: 'redacted_thinking', data: 'x' }, use('toolu_2', 'find'), use('toolu_3', 'find')),
    user(result('toolu_2', [reference('post')]), result('toolu_3', 'x', { is_error: true })),
    assistant(thought, use('toolu_4', 'post')),
    user(result('toolu_4', [{ type: 'search_result', source: 'x', title: 't', content: [text('y')] }])),
  ],
}
const changed = {
  model: 'claude-opus-4-5',
  max_tokens: 10,
  tools: [tool('find'), deferred('mail'), deferred('post')],
  messages: [
    user(text('hi')),
    {
      ...system(change('tool_addition', 'mail'), change('tool_removal', 'find')),
      clear_at: 'next_user_message',
    },

    assistant(use('toolu_1', 'mail')),
    user(result('toolu_1')),
    system(
      { type: 'tool_addition', tool: { type: 'tool_definition', definition: tool('new') } },
      text('Careful.'),
    ),
    assistant(text('Well.'), use('toolu_2', 'new')),
    user(result('toolu_2'), text('x', mark())),
  ],
}
const CHANGES = 'mid-conversation-tool-changes-2026-07-01'

const old = {
  tools: [tool('find'), { type: 'bash_20250124', name: 'bash' }],
  messages: [user(text('hi')), assistant(use('toolu_1', 'find')), user(result('toolu_1', [text('x')]))],
}

it.each<[string, unknown, ValidateOptions]>([
  ['whole', whole, { whole: true }],
  ['changed', changed, { whole: true, betas: [CHANGES, 'inline-tools-2026-09-15'] }],
  ['old-proxy', old, { oldProxy: true }],
])(
  'W1 W2 every change of a request is accepted or refused as the API does: %s',
  async (name, request, options) => {
    const write = (given: unknown) => [validateRequest(given, options)?.body.error.message ?? 'accepted']
    await expect(await effects(request, write)).toMatchFileSnapshot(`./requests/${name}.txt`)
  },
)

it.each([
  ['whole', whole],
  ['changed', changed],
])('W1 every change of a request is read as the model would: %s', async (name, request) => {
  const write = (given: Fields) => [
    ...renderRequest(given).map((segment) => JSON.stringify(segment)),
    `visible ${visibleTools(given)}`,
    `tokens ${countTokens(given)} ${JSON.stringify(readingOf(given))}`,
    ...walkRequest(given).steps.map(({ revealed }) => `reveals ${JSON.stringify(revealed)}`),
    `known ${JSON.stringify(withoutUnknown({ ...given, odd: 1 }))}`,
  ]
  await expect(await effects(request, write)).toMatchFileSnapshot(`./requests/read-${name}.txt`)
})

it.each([5, null, 'text', []])('W1 a request that is no object is refused: %j', (request) => {
  expect(validateRequest(request)?.body.error.message).toBe(
    'Input should be a valid dictionary or object to extract fields from',
  )
})
