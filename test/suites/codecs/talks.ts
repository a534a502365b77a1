// Random conversations in the shape of the Messages API, the same in the words of OpenAI's two APIs, and their gist: what must
// be the same whichever API they have passed through.
import fc from 'fast-check'
import type { Loose } from '../../../packages/testkit/src/talk.ts'
import type { Api } from './servers.ts'

/** Texts with everything that a careless writer of JSON, events or prompts would get wrong. */
export const anyText = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
  fc.constantFrom('data: x\n\n', '"\\\u2028\r\n', '<system>', '[DONE]', '{"a":', '😀'.repeat(3), ' x\t'),
)
const LONG = `mcp__${'warehouse_'.repeat(9)}count`
const NAMES = ['read', 'mail_send', 'x'.repeat(64), LONG]
const anyInput = fc.dictionary(fc.constantFrom('path', 'n', 'deep'), fc.jsonValue({ maxDepth: 2 }), {
  maxKeys: 2,
})
const image = (source: Loose) => ({ type: 'image', source })
const part = fc.oneof(
  { weight: 4, arbitrary: anyText.map((text) => ({ type: 'text', text })) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      image({ type: 'base64', media_type: 'image/png', data: 'QUJD' }),
      image({ type: 'url', url: 'https://example.com/a.png' }),
    ),
  },
)

type Turn = {
  readonly parts: Loose[]
  readonly said: string
  readonly calls: readonly { name: string; input: Loose; result: string; isError: boolean }[]
}

const turn: fc.Arbitrary<Turn> = fc.record({
  parts: fc.array(part, { minLength: 1, maxLength: 3 }),
  said: anyText,
  calls: fc.array(
    fc.record({ name: fc.constantFrom(...NAMES), input: anyInput, result: anyText, isError: fc.boolean() }),
    { maxLength: 3 },
  ),
})
const choice = fc.constantFrom<Loose>(
  undefined,
  { type: 'any' },
  { type: 'none' },
  { type: 'tool', name: 'read' },
  { type: 'tool', name: LONG, disable_parallel_tool_use: true },
  { type: 'auto', disable_parallel_tool_use: true },
)
const schema = { type: 'object', properties: { a: { type: 'string' } } }

/** Requests of the Messages API that each of the APIs can say. */
export const anyContract: fc.Arbitrary<Loose> = fc
  .record({
    turns: fc.array(turn, { minLength: 1, maxLength: 3 }),
    last: anyText,
    tool_choice: choice,
    isBare: fc.boolean(),
    settings: fc.record(
      {
        temperature: fc.constantFrom(0, 0.5, 1),
        top_p: fc.constantFrom(0.1, 0.9),
        system: anyText,
        output_config: fc.constant({ format: { type: 'json_schema', schema } }),
      },
      { requiredKeys: [] },
    ),
  })
  .map(({ turns, last, tool_choice, isBare, settings }) => ({
    ...{ model: 'llama', max_tokens: 100, ...settings },
    ...(isBare ? {} : { tools: NAMES.map(toolNamed), ...(tool_choice ? { tool_choice } : {}) }),
    messages: [...turns.flatMap(messagesOf), { role: 'user', content: [{ type: 'text', text: last }] }],
  }))

export const toolNamed = (name: string): Loose => ({
  name,
  description: `does ${name}`,
  input_schema: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
})

function messagesOf({ parts, said, calls }: Turn, at: number): Loose[] {
  const id = (index: number) => `toolu_${at}${index}`
  const uses = calls.map(({ name, input }, index) => ({ type: 'tool_use', id: id(index), name, input }))
  const results = calls.map(({ result, isError }, index) => ({
    ...{ type: 'tool_result', tool_use_id: id(index), content: [{ type: 'text', text: result }] },
    ...(isError ? { is_error: true } : {}),
  }))
  return [
    { role: 'user', content: parts },
    { role: 'assistant', content: [{ type: 'text', text: said }, ...uses] },
    ...(results.length > 0
      ? [
          { role: 'user', content: results },
          { role: 'assistant', content: [{ type: 'text', text: 'So.' }] },
        ]
      : []),
  ]
}

const CHAT_PARTS = (content: readonly Loose[]) =>
  content.map(({ type, text, source }) =>
    type === 'text' ? { type, text } : { type: 'image_url', image_url: { url: urlOf(source) } },
  )
const ITEM_PARTS = (content: readonly Loose[], type: string) =>
  content.map((block) =>
    block.type === 'text'
      ? { type, text: block.text }
      : { type: 'input_image', image_url: urlOf(block.source) },
  )
const urlOf = ({ type, media_type, data, url }: Loose) =>
  type === 'url' ? url : `data:${media_type};base64,${data}`
const errorText = ({ content: [{ text }], is_error }: Loose) => (is_error ? `Error: ${text}` : text)

function choiceFor(given: Loose, named: (name: string) => Loose): Loose {
  if (!given) return {}
  const { type, name, disable_parallel_tool_use: isSingle } = given
  const words: Loose = { any: 'required', none: 'none', auto: 'auto', tool: named(name) }
  return { tool_choice: words[type], ...(isSingle ? { parallel_tool_calls: false } : {}) }
}

/** The request as a client of each API writes it. */
export const spelled: { readonly [api in Api]: (contract: Loose) => Loose } = {
  messages: (contract) => contract,
  chat({ model, max_tokens, system, messages, tools, tool_choice, output_config: config, ...rest }) {
    const functions = tools?.map(({ name, description, input_schema: parameters }: Loose) => ({
      type: 'function',
      function: { name, description, parameters },
    }))
    const format = config?.format && {
      response_format: { type: 'json_schema', json_schema: { name: 'reply', schema: config.format.schema } },
    }
    return {
      ...{ model, max_completion_tokens: max_tokens, ...rest, ...format },
      ...(tools
        ? {
            tools: functions,
            ...choiceFor(tool_choice, (name) => ({ type: 'function', function: { name } })),
          }
        : {}),
      messages: [...(system ? [{ role: 'system', content: system }] : []), ...messages.flatMap(chatMessages)],
    }
  },
  responses({ model, max_tokens, system, messages, tools, tool_choice, output_config: config, ...rest }) {
    const functions = tools?.map(({ input_schema: parameters, ...tool }: Loose) => ({
      type: 'function',
      ...tool,
      parameters,
      strict: false,
    }))
    const format = config?.format && {
      text: { format: { type: 'json_schema', name: 'reply', schema: config.format.schema } },
    }
    return {
      ...{
        model,
        max_output_tokens: max_tokens,
        store: false,
        ...rest,
        ...format,
        ...(system ? { instructions: system } : {}),
      },
      ...(tools
        ? { tools: functions, ...choiceFor(tool_choice, (name) => ({ type: 'function', name })) }
        : {}),
      input: messages.flatMap(items),
    }
  },
}

function chatMessages({ role, content }: Loose): Loose[] {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const of = (type: string): Loose[] => blocks.filter((block: Loose) => block.type === type)
  if (role === 'user' && of('tool_result').length > 0)
    return of('tool_result').map((result) => ({
      role: 'tool',
      tool_call_id: result.tool_use_id,
      content: errorText(result),
    }))
  if (role === 'user') return [{ role, content: CHAT_PARTS(blocks) }]
  const calls = of('tool_use').map(({ id, name, input }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }))
  return [
    {
      role,
      content: of('text')
        .map(({ text }) => text)
        .join(''),
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    },
  ]
}

function items({ role, content }: Loose): Loose[] {
  return content.flatMap((block: Loose) => {
    const { type, id, name, input, tool_use_id } = block
    if (type === 'tool_use')
      return [{ type: 'function_call', call_id: id, name, arguments: JSON.stringify(input) }]
    if (type === 'tool_result')
      return [{ type: 'function_call_output', call_id: tool_use_id, output: errorText(block) }]
    return [
      { type: 'message', role, content: ITEM_PARTS([block], role === 'user' ? 'input_text' : 'output_text') },
    ]
  })
}

/** OpenAI's names have 64 characters: longer ones are cut and end in a digest. */
const short = (name: string) =>
  name.length > 64 ? name.slice(0, 52) : name.replace(/^(.{52})_[\da-z]{11}$/, '$1')

/**
 * What a request says in any API. The terms: long names are short; texts that follow each other are one; an error is a word before its result, as
 * only the Messages API has a field for it; stop sequences and the user are not asked for.
 */
export function gist({
  system,
  messages,
  tools = [],
  tool_choice,
  output_config,
  max_tokens,
  temperature,
  top_p,
}: Loose): Loose {
  const turns: { role: string; parts: Loose[] }[] = []
  for (const { role, content } of messages) {
    const parts = typeof content === 'string' ? [content] : content.map(partGist)
    const last = turns.at(-1)
    const list = last?.role === role ? last!.parts : []
    if (last?.role !== role) turns.push({ role, parts: list })
    for (const one of parts) {
      const isText = typeof one === 'string' && typeof list.at(-1) === 'string'
      if (isText) list[list.length - 1] += `\n\n${one}`
      else list.push(one)
    }
  }
  return {
    system: typeof system === 'object' ? system.map(({ text }: Loose) => text).join('\n\n') : system,
    turns,
    tools: tools.map(({ name, input_schema }: Loose) => ({ name: short(name), input_schema })),
    tool_choice:
      tools.length > 0 && tool_choice ? { ...tool_choice, name: short(tool_choice.name ?? '') } : undefined,
    schema: output_config?.format?.schema,
    ...{ max_tokens, temperature, top_p },
  }
}

function partGist({ type, text, source, id, name, input, tool_use_id, content, is_error }: Loose): Loose {
  if (type === 'text') return text
  if (type === 'image') return urlOf(source)
  if (type === 'tool_use') return { id, name: short(name), input }
  const said = typeof content === 'string' ? content : content?.map((inner: Loose) => inner.text).join('')
  return { id: tool_use_id, said: (is_error ? 'Error: ' : '') + String(said).replace(/^Error:\n/, 'Error: ') }
}

/** Replies that each API can say: words, then calls. */
export const anyReply: fc.Arbitrary<Loose[]> = fc
  .record({
    said: fc.option(cut(anyText), { nil: undefined }),
    calls: fc.array(fc.record({ name: fc.constantFrom(...NAMES), input: anyInput, size: fc.nat(9) }), {
      maxLength: 3,
    }),
  })
  .map(({ said, calls }) => [
    ...(said ? [{ type: 'text', text: said.join(''), parts: said }] : []),
    ...calls.map(({ name, input, size }, index) => ({
      ...{ type: 'tool_use', id: `call_${index}`, name, input },
      parts: pieces(JSON.stringify(input), size + 1),
    })),
  ])
  .filter((blocks) => blocks.some(({ type, text }: Loose) => type !== 'text' || text.trim() !== ''))

function cut(texts: fc.Arbitrary<string>): fc.Arbitrary<string[]> {
  return fc.tuple(texts, fc.integer({ min: 1, max: 5 })).map(([text, size]) => pieces(text, size))
}

/** The calls by the names that the model was given. */
export const named =
  (blocks: readonly Loose[]) =>
  ({ tools = [] }: Loose): { blocks: Loose[] } => ({
    blocks: blocks.map((block) => {
      const tool = tools.find(
        ({ name }: Loose) => block.name !== undefined && short(name) === short(block.name),
      )
      return tool ? { ...block, name: tool.name } : block
    }),
  })

/** A text in pieces of so many characters; surrogates stay together, as in every stream of JSON. */
function pieces(text: string, size: number): string[] {
  const characters = [...text]
  return Array.from({ length: Math.ceil(characters.length / size) }, (_, at) =>
    characters.slice(at * size, (at + 1) * size).join(''),
  )
}

/** What a client of an API makes of a reply: its words, its calls, and why it ended. */
export const heard: { readonly [api in Api]: (document: Loose) => Loose } = {
  messages: ({ content, stop_reason }) => ({
    text: content.map(({ text = '' }: Loose) => text).join(''),
    calls: content
      .filter(({ type }: Loose) => type === 'tool_use')
      .map(({ id, name, input }: Loose) => ({ id, name, input })),
    stop: stop_reason,
  }),
  chat: ({ choices: [{ message, finish_reason }] }) => ({
    text: message.content ?? '',
    calls: (message.tool_calls ?? []).map(({ id, function: called }: Loose) => ({
      id,
      name: called.name,
      input: JSON.parse(called.arguments),
    })),
    stop: finish_reason === 'tool_calls' ? 'tool_use' : 'end_turn',
  }),
  responses({ output, status }) {
    const of = (type: string): Loose[] => output.filter((item: Loose) => item.type === type)
    const calls = of('function_call').map(({ call_id: id, name, arguments: json }) => ({
      id,
      name,
      input: JSON.parse(json),
    }))
    const text = of('message')
      .flatMap(({ content }) => content.map((inner: Loose) => inner.text))
      .join('')
    return { text, calls, stop: status === 'completed' && calls.length > 0 ? 'tool_use' : 'end_turn' }
  },
}
