// Converts the messages of a chat completion request to the Messages shape. Each message converts on its own, so that
// known ones are converted once; only the results of parallel calls are joined, as the Messages API wants them.
import { type Fields, fieldsOf, listOf, oncePerFrozen, textOf } from '@toolshelf/core/internal'
import { refuseRequest } from '../errors.ts'
import { systemReminder } from '../wire/lower.ts'
import { FREEFORM_FIELD } from './freeform.ts'
import { oncePerRun } from './once-per-run.ts'
import { callInput, mediaSource, startedByUser } from './openai-content.ts'
import { insideName } from './tool-names.ts'

type ChatHistory = { readonly system: string; readonly messages: readonly Fields[] }

/**
 * Converts the history. System messages at its start become the system prompt. Later ones follow the user message of
 * their turn, where the Messages API accepts them; in a turn without one they become a reminder in a user message.
 */
export function fromChatMessages(history: readonly Fields[]): ChatHistory {
  const start = history.findIndex((message) => !isSystem(message))
  const leading = history.slice(0, start < 0 ? Math.max(0, history.length - 1) : start)
  const messages: Fields[] = []
  /** Results of the preceding calls, which form one message. */
  let results: Fields[] = []
  let remarks: Fields[] = []
  const push = (message: Fields | undefined) => message && messages.push(message)
  const endResults = () => {
    if (results.length > 0) push(resultMessage(results, CHAT))
    results = []
  }
  const endRemarks = () => {
    const isAfterUser = messages.at(-1)?.role === 'user'
    if (remarks.length > 0) push((isAfterUser ? systemMessage : reminder)(remarks, CHAT))
    remarks = []
  }
  for (const message of history.slice(leading.length)) {
    if (message.role === 'tool') {
      results.push(message)
      continue
    }
    endResults()
    if (message.role === 'assistant') endRemarks()
    if (isSystem(message)) remarks.push(message)
    else push(fromChatMessage(message))
  }
  endResults()
  endRemarks()
  return { system: textsOf(leading), messages: startedByUser(messages) }
}

function isSystem({ role }: Fields): boolean {
  return role === 'system' || role === 'developer'
}

function textsOf(messages: readonly Fields[]): string {
  const texts = messages.map(({ content }) => plainText(content))
  return texts.filter((text) => text !== '').join('\n\n')
}

/** The converter to which the remembered messages belong. */
const CHAT = {}

const resultMessage = oncePerRun((run) => withBlocks('user', run.map(fromResult)))

const systemMessage = oncePerRun((run) =>
  withBlocks(
    'system',
    run.flatMap(({ content }) => fromParts(content)),
  ),
)

const reminder = oncePerRun((run) => {
  const text = textsOf(run)
  return withBlocks('user', text === '' ? [] : [{ type: 'text', text: systemReminder(text) }])
})

/** Converts a message; undefined if it says nothing, because no API accepts an empty one. */
const fromChatMessage = oncePerFrozen((message: Fields): Fields | undefined => {
  const { role, content } = message
  switch (role) {
    case 'user':
      return withBlocks('user', spokenBy(message.name, fromParts(content)))
    case 'assistant':
      return withBlocks('assistant', [...fromParts(message.content ?? message.refusal), ...callsIn(message)])
    default:
      throw wrong(
        `messages: a message has the role "${String(role).slice(0, 40)}"`,
        'user, assistant, system, developer or tool',
      )
  }
})

/** Says who of several users speaks. */
function spokenBy(name: unknown, parts: Fields[]): Fields[] {
  return textOf(name) === '' || parts.length === 0
    ? parts
    : [{ type: 'text', text: `${textOf(name)}:` }, ...parts]
}

function withBlocks(role: string, content: readonly Fields[]): Fields | undefined {
  return content.length === 0 ? undefined : Object.freeze({ role, content })
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
      const given = type === 'custom' ? { [FREEFORM_FIELD]: textOf(input) } : callInput(json)
      return { type: 'tool_use', id: textOf(id), name: insideName(textOf(name)), input: given }
    })
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
    { type: 'image', source: mediaSource(textOf(fieldsOf(image).url) || textOf(image)) },
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

function fromFile({ file_data: data, filename, file_id: id }: Fields): Fields {
  if (typeof data !== 'string')
    throw wrong(
      `messages: a file is given by its id (${textOf(id).slice(0, 60)}), and this upstream has no files of yours`,
      'file_data with the content',
    )
  const title = textOf(filename) === '' ? {} : { title: filename }
  const url = data.startsWith('data:') ? data : `data:application/pdf;base64,${data}`
  return { type: 'document', source: mediaSource(url), ...title }
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
