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
import { effects, expectDigest } from '../support/variants.ts'
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

it.each<[string, unknown, ValidateOptions, string]>([
  ['whole', whole, { isComplete: true }, 'bb6eec897e3a'],
  ['changed', changed, { isComplete: true, betas: [CHANGES, 'inline-tools-2026-09-15'] }, '9e03393e5c65'],
  ['old-proxy', old, { isOldProxy: true }, 'c5bf84d0276f'],
])(
  'W1 W2 every change of a request is accepted or refused as the API does: %s',
  async (_, request, options, digest) => {
    const write = (given: unknown) => [validateRequest(given, options)?.body.error.message ?? 'accepted']
    expectDigest(await effects(request, write), digest)
  },
)

it.each([
  ['whole', whole, '3ef0a56224be'],
  ['changed', changed, '292acafa80e3'],
])('W1 every change of a request is read as the model would: %s', async (_, request, digest) => {
  const write = (given: Fields) => [
    ...renderRequest(given).map((segment) => JSON.stringify(segment)),
    `visible ${visibleTools(given)}`,
    `tokens ${countTokens(given)} ${JSON.stringify(readingOf(given))}`,
    ...walkRequest(given).steps.map(({ revealed }) => `reveals ${JSON.stringify(revealed)}`),
    `known ${JSON.stringify(withoutUnknown({ ...given, odd: 1 }))}`,
  ]
  expectDigest(await effects(request, write), digest)
})

it.each([5, null, 'text', []])('W1 a request that is no object is refused: %j', (request) => {
  expect(validateRequest(request)?.body.error.message).toBe(
    'Input should be a valid dictionary or object to extract fields from',
  )
})

it('W1 W2 requests of rare shapes are accepted or refused as the API does', () => {
  const hi = user(text('hi'))
  const base = (more: Fields): Fields => ({
    model: 'claude-opus-4-5',
    max_tokens: 10,
    messages: [hi],
    ...more,
  })
  const talk = (...messages: unknown[]) => base({ messages })
  const paused = assistant(search('srvtoolu_1'), found('srvtoolu_1', 'mail'))
  const tools = [
    { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' },
    tool('find'),
    deferred('mail'),
  ]
  const directive = (content: unknown, output_config: unknown = { effort: 'low' }) => ({
    role: 'system',
    content,
    output_config,
  })
  const image = (source: unknown, more: Fields = {}) => talk(user({ type: 'image', source, ...more }))
  const pdf = (source: unknown, more: Fields = {}) => talk(user({ type: 'document', source, ...more }))
  const base64 = (media_type: string, data: unknown = 'iVBORw0KGgoA') => ({
    type: 'base64',
    media_type,
    data,
  })
  const requests = [
    ...[null, 'auto', { type: 'odd' }, { type: 'auto' }, { type: 'any' }, { type: 'none' }].map(
      (tool_choice) => base({ tool_choice }),
    ),
    ...['find', 'mail', 'other', 5].map((name) => base({ tools, tool_choice: { type: 'tool', name } })),
    ...[-0.1, 0, 1, 1.1, 'x'].map((temperature) => base({ temperature })),
    ...[['x'], [' '], [5], []].map((stop_sequences) => base({ stop_sequences })),
    ...[0, -1, 1.5, '5', undefined].map((max_tokens) => base({ max_tokens })),
    ...['', 5, undefined].map((model) => base({ model })),
    ...[undefined, '', [], [text('x')], 'x'].map((content) =>
      talk(hi, directive(content), assistant(text('x')), hi),
    ),
    ...[{}, 5, undefined].map((config) => talk(hi, directive('', config), assistant(text('x')), hi)),
    talk(directive(''), hi),
    talk(directive('')),
    talk(),
    talk(assistant(text('x')), hi),
    talk({ role: 'assistant', content: '' }, hi),
    talk({ role: 'system', content: 'x' }, hi),
    talk(assistant({ type: 'compaction', content: 'Before.' }), hi),
    ...['', [], ' x ', [text('')], [text(' ')]].flatMap((content) => [
      talk({ role: 'user', content }),
      talk(hi, { role: 'assistant', content }),
      talk(hi, { role: 'assistant', content }, hi),
    ]),
    ...['claude-sonnet-4-6', 'claude-opus-5', 'claude-sonnet-4-5'].flatMap((model) => [
      { ...talk(hi, assistant(text('So'))), model },
      { ...talk(hi, paused), tools, model },
      { ...talk(hi, paused, system(text('Go on.'))), tools, model },
    ]),
    ...[
      [hi, paused, system(change('tool_removal', 'find'))],
      [hi, paused, system(text('Go on.')), hi],
      [hi, assistant(search('srvtoolu_1'), found('srvtoolu_1'), use('toolu_1', 'find')), system(text('x'))],
      [hi, assistant(use('toolu_1', 'find'), search('srvtoolu_1'), found('srvtoolu_1')), system(text('x'))],
      [hi, assistant(text('x')), system(text('x'))],
      [hi, system(text('x')), system(text('y')), assistant(text('x'))],
      [hi, system({ type: 'tool_addition', tool: { type: 'mcp_toolset_reference', server_name: 'a' } })],
      [hi, system({ type: 'tool_addition', tool: { type: 'mcp_toolset_reference' } })],
      [hi, system({ type: 'tool_removal', tool: { type: 'tool_definition', definition: tool('x') } })],
      [user(change('tool_addition', 'mail'))],
    ].map((messages) => base({ tools, messages })),
    ...['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/odd', ''].map((type) =>
      image(base64(type)),
    ),
    ...['', 'no base 64!', 5, undefined].map((data) => image(base64('image/png', data))),
    ...[
      { type: 'url', url: 'https://a.example' },
      { type: 'url' },
      { type: 'file', file_id: 'f' },
      { type: 'file' },
      { type: 'odd' },
      5,
    ].flatMap((source) => [image(source), pdf(source)]),
    pdf(base64('application/pdf', 'JVBERi0xLjQK')),
    pdf(base64('image/png')),
    ...['', 'x', 5].map((data) =>
      pdf({ type: 'text', media_type: 'text/plain', data }, { title: 'x', citations: { enabled: true } }),
    ),
    ...['text', [text('x')], [], [png], 5].map((content) => pdf({ type: 'content', content })),
    ...[
      { type: 'ephemeral' },
      { type: 'odd' },
      { type: 'ephemeral', ttl: '5m' },
      { type: 'ephemeral', ttl: '2h' },
      null,
      5,
    ].map((cache_control) => talk(user(text('x', { cache_control })))),
    talk(user(...Array.from({ length: 5 }, (_, index) => text(`${index}`, mark())))),
    talk(user(text('x', mark()), text('y', mark({ ttl: '1h' })))),
    talk(hi, assistant(thought), hi),
    talk(hi, assistant(text('x'), thought), hi),
    ...[
      { type: 'enabled' },
      { type: 'enabled', budget_tokens: 1023 },
      { type: 'enabled', budget_tokens: 9 },
      { type: 'adaptive' },
      { type: 'disabled' },
      { type: 'odd' },
      5,
    ].map((thinking) => base({ thinking, max_tokens: 2000 })),
    base({
      thinking: { type: 'enabled', budget_tokens: 1500 },
      max_tokens: 2000,
      tools,
      tool_choice: { type: 'any' },
    }),
    ...[
      5,
      'x',
      [5],
      [{}],
      [{ name: '' }],
      [tool('a b')],
      [tool('x'.repeat(129))],
      [tool('a'), tool('a')],
      [deferred('a')],
      [tool('a', { type: 'odd' })],
      [tool('a', { input_schema: 5 })],
      [tool('a', { input_schema: { type: 'string' } })],
      [tool('a', { description: 5 })],
      [tool('a', { strict: 5 })],
      [tool('a', { input_examples: [5] })],
      [tool('a', { defer_loading: 5 })],
      [deferred('a', mark()), tool('b')],
    ].map((list) => base({ tools: list })),
    talk(hi, assistant(use('toolu_1', 'find')), hi),
    talk(hi, assistant(use('toolu_1', 'find'), use('toolu_1', 'find')), user(result('toolu_1'))),
    talk(hi, assistant(use('toolu_1', 'find')), user(text('x'), result('toolu_1'))),
    talk(user(result('toolu_1'))),
    talk(hi, assistant(use('a b', 'find')), user(result('a b'))),
    base({ tools, messages: [hi, assistant(search('srvtoolu_1')), hi] }),
    base({ tools, messages: [hi, assistant(found('srvtoolu_1')), hi] }),
    base({ tools, messages: [hi, assistant(search('toolu_1'), found('toolu_1', 'none')), hi] }),
    base({
      tools,
      messages: [
        hi,
        assistant(use('toolu_1', 'find')),
        user(result('toolu_1', [reference('none'), text('x')])),
      ],
    }),
  ]
  const options: ValidateOptions = { isComplete: true, betas: [CHANGES, 'inline-tools-2026-09-15'] }
  const lines = requests.flatMap((request) => {
    const messages = [options, { isOldProxy: true }, { isLenient: true }].map(
      (one) => validateRequest(request, one)?.body.error.message.slice(0, 200) ?? 'accepted',
    )
    const shown = JSON.stringify(request).replace('"model":"claude-opus-4-5","max_tokens":10,', '')
    return [shown.slice(0, 250), ...[...new Set(messages)].map((message) => `  ${message}`)]
  })
  expectDigest(lines.join('\n'), '27bc5d54b81e')
})
