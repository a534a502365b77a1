// Requests of OpenAI's two APIs that nobody would write: each field has the kind of value that it should have, or any other.
import fc from 'fast-check'
import type { Loose } from '../../../packages/testkit/src/talk.ts'

const anything = fc.anything({
  withNullPrototype: false,
  maxDepth: 2,
  values: [fc.string(), fc.integer(), fc.boolean(), fc.constant(null)],
})
/** The values that a field should have, and others. */
const mostly = (...values: readonly unknown[]) =>
  fc.oneof({ weight: 20, arbitrary: fc.constantFrom(...values) }, { weight: 1, arbitrary: anything })
const nearly = (arbitrary: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 20, arbitrary }, { weight: 1, arbitrary: anything })
const listOf = (arbitrary: fc.Arbitrary<unknown>, maxLength: number) =>
  nearly(fc.array(nearly(arbitrary), { maxLength }))
const fields = (required: readonly string[], model: Loose) =>
  fc.record(model, { requiredKeys: required as never[] })

const chatPart = fields(['type'], {
  type: mostly('text', 'text', 'image_url', 'refusal', 'tool_reference'),
  text: mostly('x', ''),
  image_url: mostly({ url: 'data:image/png;base64,AA' }, 'http://x', { url: 'data:' }),
  file: anything,
})
const chatCall = fields(['id'], {
  id: mostly('a', 'b'),
  type: mostly('function', 'custom'),
  function: nearly(fields([], { name: mostly('read', ''), arguments: nearly(fc.json()) })),
})
const chatTool = fields(['type', 'function', 'custom'], {
  type: mostly('function', 'function', 'custom', 'tool_search'),
  function: fields(['name'], { name: mostly('read', 'a.b'), description: anything, parameters: anything }),
  custom: fields(['name'], { name: mostly('patch'), format: anything }),
  defer_loading: mostly(true, false),
})

export const anyChat: fc.Arbitrary<Loose> = fields(['model', 'messages'], {
  model: mostly('m', 'claude-opus-5-5', ''),
  messages: listOf(
    fields(['role'], {
      role: mostly('user', 'assistant', 'system', 'developer', 'tool'),
      content: nearly(fc.oneof(fc.string(), fc.array(nearly(chatPart), { maxLength: 3 }), fc.constant(null))),
      tool_calls: listOf(chatCall, 3),
      tool_call_id: mostly('a', 'b'),
    }),
    5,
  ),
  tools: listOf(chatTool, 4),
  tool_choice: mostly('auto', 'none'),
  response_format: mostly({ type: 'json_object' }, { type: 'json_schema' }),
  stop: mostly('x', ['x']),
  reasoning_effort: anything,
  temperature: mostly(0.5, null),
}) as fc.Arbitrary<Loose>

const name = mostly('read', 'send', 'patch', 'functions', 'tool_search')
const part = fields(['type'], {
  type: mostly('input_text', 'output_text', 'refusal', 'input_image', 'input_file', 'summary_text'),
  text: mostly('x', ''),
  refusal: mostly('no'),
  image_url: mostly('data:image/png;base64,AA==', 'https://example.com/a.png'),
  file_data: mostly('data:application/pdf;base64,AA=='),
})
const content = fc.oneof(mostly('Hi', ''), fc.array(part, { maxLength: 2 }), anything)
const definition: fc.Arbitrary<unknown> = fc.oneof(
  fields(['type'], {
    type: mostly('function', 'custom', 'local_shell', 'shell', 'apply_patch', 'web_search', 'tool_search'),
    name,
    description: mostly('Does it.'),
    parameters: mostly({ type: 'object' }, null),
    strict: mostly(true),
    defer_loading: mostly(true, false),
    execution: mostly('client', 'server'),
  }),
  fields(['type'], {
    type: fc.constant('namespace'),
    name,
    description: mostly('Mail.'),
    tools: fc.array(fields(['type'], { type: mostly('function', 'custom'), name }), { maxLength: 2 }),
  }),
  anything,
)
const item = fc.oneof(
  fields(['role'], {
    type: mostly('message', undefined),
    role: mostly('user', 'assistant', 'developer'),
    content,
  }),
  fields(['type'], {
    type: mostly(
      'function_call',
      'custom_tool_call',
      'local_shell_call',
      'shell_call',
      'apply_patch_call',
      'tool_search_call',
      'reasoning',
      'web_search_call',
      'item_reference',
      'additional_tools',
    ),
    id: mostly('a', 'b', 'c'),
    name,
    namespace: mostly('send', 'functions'),
    arguments: mostly('{}', '{"a":1}', '{'),
    input: mostly('x'),
    action: mostly({ command: ['ls'] }),
    operation: anything,
    encrypted_content: mostly('gAA', 'toolshelf-thinking.e30', 'toolshelf.item.e30'),
    summary: anything,
    tools: fc.array(definition, { maxLength: 2 }),
    status: mostly('completed', 'failed'),
  }),
  anything,
)

/** Most calls have their outputs, or every conversation would be refused for one that has none. */
export const anyResponses: fc.Arbitrary<Loose> = fc
  .tuple(
    fields(['model', 'input'], {
      model: mostly('claude-opus-5-5'),
      input: fc.oneof(fc.array(item, { maxLength: 6 }), mostly('Hi')),
      tools: fc.oneof({ weight: 5, arbitrary: fc.array(definition, { maxLength: 4 }) }, anything),
      tool_choice: mostly('auto', 'required', { type: 'function', name: 'read' }),
      reasoning: mostly({ effort: 'low' }, null),
      text: mostly({ format: { type: 'json_object' } }),
      instructions: mostly('Be kind.'),
      max_output_tokens: mostly(9),
      include: anything,
    }) as fc.Arbitrary<Loose>,
    fc.boolean(),
  )
  .map(([given, isPaired]) => {
    if (!isPaired || !Array.isArray(given.input)) return given
    const input = given.input.flatMap((one: Loose, at: number) => {
      const type = String(one?.type)
      if (/_output$|item_reference/.test(type)) return []
      if (!/_call$/.test(type) || type === 'web_search_call') return [one]
      const call = { ...one, call_id: `c${at}`, execution: 'client' }
      const outputType = type === 'tool_search_call' ? 'tool_search_output' : `${type}_output`
      return [call, { tools: [], ...call, type: outputType, output: 'fine' }]
    })
    return { ...given, input }
  })
