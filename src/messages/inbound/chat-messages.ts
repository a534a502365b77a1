// Converts the messages of a chat completion request to the Messages shape. Each message converts on its own, so that
// known ones are converted once; only the results of parallel calls are joined, as the Messages API wants them.
import { inputOf } from '../../core/index.ts'
import { type Fields, fieldsOf, listOf, oncePerFrozen, textOf, toJson } from '../../lib/index.ts'
import { refuseRequest } from '../errors.ts'
import { parseExact } from '../json/index.ts'
import { FREEFORM_FIELD } from './freeform.ts'
import { insideName } from './tool-names.ts'

export type ChatHistory = { readonly system: string; readonly messages: readonly Fields[] }

/** Converts the history. System messages at its start become the system prompt; later ones stay where they are. */
export function fromChatMessages(history: readonly Fields[]): ChatHistory {
  const isSystem = ({ role }: Fields) => role === 'system' || role === 'developer'
  const start = history.findIndex((message) => !isSystem(message))
  const leading = history.slice(0, start < 0 ? history.length : start)
  const messages: Fields[] = []
  /** Results of the calls before, which belong into one message. */
  let results: Fields[] = []
  const flush = () => {
    const joined = results.length > 0 ? joinedResults(results) : undefined
    if (joined) messages.push(joined)
    results = []
  }
  for (const message of history.slice(leading.length)) {
    if (message.role === 'tool') {
      results.push(message)
      continue
    }
    flush()
    const converted = fromChatMessage(message)
    if (converted) messages.push(converted)
  }
  flush()
  return {
    system: leading
      .map((message) => plainText(message.content))
      .filter(Boolean)
      .join('\n\n'),
    messages,
  }
}

/** Converts a message; undefined if it says nothing, because no API accepts an empty one. */
const fromChatMessage = oncePerFrozen((message: Fields): Fields | undefined => {
  const { role, content } = message
  switch (role) {
    case 'user':
      return withBlocks('user', fromParts(content))
    case 'system':
    case 'developer':
      return withBlocks('system', fromParts(content))
    case 'assistant':
      return withBlocks('assistant', [...fromParts(message.content ?? message.refusal), ...callsIn(message)])
    default:
      throw wrong(
        `messages: a message has the role "${String(role).slice(0, 40)}"`,
        'user, assistant, system, developer or tool',
      )
  }
})

function withBlocks(role: string, content: readonly Fields[]): Fields | undefined {
  return content.length === 0 ? undefined : Object.freeze({ role, content })
}

/** Finds the joined message again by its first result, if all the others are the same. */
const joinedBefore = oncePerFrozen(
  (_: Fields): { results: readonly Fields[]; message: Fields | undefined } => ({
    results: [],
    message: undefined,
  }),
)

function joinedResults(results: readonly Fields[]): Fields {
  const known = joinedBefore(results[0] ?? {})
  const isSame =
    known.message &&
    known.results.length === results.length &&
    known.results.every((one, at) => one === results[at])
  if (known.message && isSame) return known.message
  const message = Object.freeze({ role: 'user', content: results.map(fromResult) })
  known.results = results
  known.message = message
  return message
}

const fromResult = oncePerFrozen(({ tool_call_id: id, content }: Fields): Fields => {
  if (typeof id !== 'string')
    throw wrong(
      'messages: a message of the role "tool" has no tool_call_id',
      'the id of the call that it answers',
    )
  const blocks = fromParts(content)
  return Object.freeze({
    type: 'tool_result',
    tool_use_id: id,
    ...(blocks.length > 0 ? { content: blocks } : {}),
  })
})

function callsIn({ tool_calls: calls }: Fields): Fields[] {
  return listOf(calls)
    .map(fieldsOf)
    .map(({ id, type, function: called, custom }) => {
      const { name, arguments: json, input } = fieldsOf(type === 'custom' ? custom : called)
      const given = type === 'custom' ? { [FREEFORM_FIELD]: textOf(input) } : inputIn(json)
      return { type: 'tool_use', id: textOf(id), name: insideName(textOf(name)), input: given }
    })
}

/** The arguments of a call. Models write invalid ones at times; the model sees them again as text. */
function inputIn(json: unknown): Fields {
  const text = typeof json === 'string' ? json : toJson(json ?? {})
  return inputOf(text, parseExact) ?? { invalid_arguments: text }
}

/** Converts content: a text, or a list of parts. */
function fromParts(content: unknown): Fields[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return listOf(content).map(fieldsOf).flatMap(fromPart)
}

const PARTS: { readonly [type: string]: (part: Fields) => Fields[] } = {
  text: ({ text, cache_control: mark }) =>
    textOf(text) === '' ? [] : [{ type: 'text', text, ...(mark ? { cache_control: mark } : {}) }],
  refusal: ({ refusal }) => (textOf(refusal) === '' ? [] : [{ type: 'text', text: refusal }]),
  image_url: ({ image_url: image }) => [
    { type: 'image', source: sourceOf(textOf(fieldsOf(image).url) || textOf(image)) },
  ],
  file: ({ file }) => [fromFile(fieldsOf(file))],
  tool_reference: ({ tool_name: name, name: other }) => [
    { type: 'tool_reference', tool_name: insideName(textOf(name) || textOf(other)) },
  ],
}

function fromPart(part: Fields): Fields[] {
  const type = textOf(part.type)
  const convert = Object.hasOwn(PARTS, type) ? PARTS[type] : undefined
  if (!convert)
    throw wrong(
      `messages: a content part of type "${type.slice(0, 40)}" cannot be converted for this upstream`,
      'text, image_url or file',
    )
  return convert(part)
}

const DATA_URL = /^data:([\w.+/-]+)(?:;[\w=.-]+)*;base64,/

function sourceOf(url: string): Fields {
  const [start, type] = DATA_URL.exec(url) ?? []
  if (start === undefined) return { type: 'url', url }
  return { type: 'base64', media_type: type, data: url.slice(start.length) }
}

function fromFile({ file_data: data, filename, file_id: id }: Fields): Fields {
  if (typeof data !== 'string')
    throw wrong(
      `messages: a file is given by its id (${textOf(id).slice(0, 60)}), and this upstream has no files of yours`,
      'file_data with the content',
    )
  const title = textOf(filename) === '' ? {} : { title: filename }
  const url = data.startsWith('data:') ? data : `data:application/pdf;base64,${data}`
  return { type: 'document', source: sourceOf(url), ...title }
}

function plainText(content: unknown): string {
  if (typeof content === 'string') return content
  return listOf(content)
    .map((part) => textOf(fieldsOf(part).text))
    .filter(Boolean)
    .join('\n\n')
}

function wrong(what: string, expected: string) {
  return refuseRequest(400, 'invalid_request_error', `${what}; send ${expected}`)
}
