// Requests that nobody would write: each is converted or refused in OpenAI's shape, and what is converted is a request
// that the API itself would not call malformed.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { eventsOf } from '../../src/core/index.ts'
import { validateRequest } from '../../src/core/oracle/index.ts'
import type { Fields } from '../../src/lib/index.ts'
import { responsesApi } from '../../src/messages/inbound/index.ts'
import type { HttpAnswer } from '../../src/messages/index.ts'
import { runs, seedOr } from '../support/runs.ts'

const tries = runs(60)
const seed = seedOr(20261117)

const anything = fc.anything({
  withNullPrototype: false,
  maxDepth: 2,
  values: [fc.string(), fc.integer(), fc.boolean(), fc.constant(null)],
})
/** The values that a field should have, and others. */
const mostly = (...values: readonly unknown[]) =>
  fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...values) }, { weight: 1, arbitrary: anything })
const id = mostly('a', 'b', 'c')
const name = mostly('read', 'send', 'patch', 'functions', 'tool_search')
const part = fc.record(
  {
    type: mostly('input_text', 'output_text', 'refusal', 'input_image', 'input_file', 'summary_text'),
    text: mostly('x', ''),
    refusal: mostly('no'),
    image_url: mostly('data:image/png;base64,AA==', 'https://example.com/a.png'),
    file_data: mostly('data:application/pdf;base64,AA=='),
  },
  { requiredKeys: ['type'] },
)
const content = fc.oneof(mostly('Hi', ''), fc.array(part, { maxLength: 2 }), anything)
const definition: fc.Arbitrary<unknown> = fc.oneof(
  fc.record(
    {
      type: mostly('function', 'custom', 'local_shell', 'shell', 'apply_patch', 'web_search', 'tool_search'),
      ...{
        name,
        description: mostly('Does it.'),
        parameters: mostly({ type: 'object' }, null),
        strict: mostly(true),
      },
      ...{ defer_loading: mostly(true, false), execution: mostly('client', 'server') },
    },
    { requiredKeys: ['type'] },
  ),
  fc.record({
    type: fc.constant('namespace'),
    name,
    description: mostly('Mail.'),
    tools: fc.array(fc.record({ type: mostly('function', 'custom'), name }), { maxLength: 2 }),
  }),
  anything,
)
const item = fc.oneof(
  fc.record({ type: mostly('message', undefined), role: mostly('user', 'assistant', 'developer'), content }),
  fc.record(
    {
      type: mostly(
        ...[
          'function_call',
          'function_call_output',
          'custom_tool_call',
          'custom_tool_call_output',
          'reasoning',
        ],
        ...[
          'local_shell_call',
          'shell_call',
          'shell_call_output',
          'apply_patch_call',
          'apply_patch_call_output',
        ],
        ...[
          'tool_search_call',
          'tool_search_output',
          'additional_tools',
          'web_search_call',
          'item_reference',
        ],
      ),
      ...{
        call_id: id,
        id,
        name,
        namespace: name,
        arguments: mostly('{}', '{"a":1}', '{'),
        input: mostly('x'),
      },
      ...{
        output: mostly('fine', [], [{ type: 'input_text', text: 'x' }]),
        execution: mostly('client', 'server'),
      },
      ...{
        action: anything,
        operation: anything,
        encrypted_content: mostly('gAA', 'toolshelf-thinking.e30', 'toolshelf.item.e30'),
      },
      ...{
        summary: anything,
        tools: fc.array(definition, { maxLength: 2 }),
        status: mostly('completed', 'failed'),
      },
    },
    { requiredKeys: ['type'] },
  ),
  anything,
)
const body = fc.record(
  {
    model: mostly('claude-opus-5-5'),
    input: fc.oneof(fc.array(item, { maxLength: 6 }), mostly('Hi')),
    tools: fc.oneof({ weight: 5, arbitrary: fc.array(definition, { maxLength: 4 }) }, anything),
    tool_choice: mostly(
      'auto',
      'required',
      { type: 'function', name: 'read' },
      { type: 'allowed_tools', mode: 'auto', tools: [] },
    ),
    ...{
      reasoning: mostly({ effort: 'low' }, null),
      text: mostly({ format: { type: 'json_object' } }),
      stream: mostly(true),
    },
    ...{
      instructions: mostly('Be kind.'),
      max_output_tokens: mostly(9),
      temperature: mostly(0.5),
      include: anything,
    },
  },
  { requiredKeys: ['model', 'input'] },
)

/** A well-shaped pair now and then, or every conversation would be refused for its calls. */
const talk = fc.tuple(body, fc.boolean()).map(([given, isPaired]): Fields => {
  if (!isPaired || !Array.isArray(given.input)) return given
  const input = given.input.flatMap((one, at) => {
    const type = String((one as Fields | null)?.type)
    if (/_output$|item_reference/.test(type)) return []
    if (!/_call$/.test(type) || type === 'web_search_call') return [one]
    const call = { ...(one as Fields), call_id: `c${at}`, execution: 'client' }
    const output = type === 'tool_search_call' ? 'tool_search_output' : `${type}_output`
    return [call, { tools: [], ...call, type: output, output: 'fine' }]
  })
  return { ...given, input }
})

test('random requests are converted or refused, and what is converted is well-formed', () => {
  let converted = 0
  fc.assert(
    fc.property(talk, (given) => {
      try {
        const { request, unconvertible, reply } = responsesApi.read(given)
        if (unconvertible !== undefined) return
        converted++
        const error = validateRequest({ max_tokens: 9, ...request }, { isLenient: true })
        // What a client itself got wrong is refused by the API, but never the pairing of calls or the shape of blocks.
        expect(error?.body.error.message ?? '').not.toMatch(
          /tool_use|tool_result|thinking|content|Field required/,
        )
        const writer = reply()
        const called =
          request.tools?.map(({ name }, at) => ({ type: 'tool_use', id: `c${at}`, name, input: {} })) ?? []
        const message = { id: 'msg_1', model: 'm', content: called, stop_reason: 'tool_use', usage: {} }
        const text = [...eventsOf(message)].map(writer.add).join('')
        const document = JSON.parse(writer.document())
        expect(document).toMatchObject({ object: 'response', status: 'completed' })
        if (given.stream === true) expect(text).toContain('event: response.completed')
      } catch (error) {
        const { answer } = error as { readonly answer?: HttpAnswer }
        if (!answer) throw error
        const { status, body } = responsesApi.error(answer)
        expect(status).toBe(400)
        expect(JSON.parse(body)).toEqual({
          error: {
            message: expect.stringMatching(/\w/),
            type: 'invalid_request_error',
            param: expect.any(String),
            code: null,
          },
        })
      }
    }),
    { numRuns: tries, seed },
  )
  // Enough requests must be converted, or the test would check only refusals.
  expect(converted).toBeGreaterThan(tries / 20)
})
