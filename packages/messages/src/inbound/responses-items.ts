// Converts the items of a Responses request to messages. Items of the model up to the next one of the client form one
// assistant message; the outputs of its calls follow in one user message, as the Messages API wants them.
import { type Fields, listOf, textOf } from '@toolshelf/core/internal'
import { invalidRequest } from '../errors.ts'
import { systemReminder } from '../wire/lower.ts'
import { oncePerRun, startedByUser } from './openai-content.ts'
import {
  assistantBlocks,
  fromParts,
  isClientCall,
  isModelItem,
  isServerSearch,
  resultBlock,
  searchIdOf,
} from './responses-blocks.ts'
import { namesIn, type ToolTable } from './responses-tools.ts'

type ItemHistory = {
  /** The texts of system and developer messages at the start. */
  readonly system: readonly string[]
  readonly messages: readonly Fields[]
}

/** Returns an item's type; messages may omit it. */
export function typeOf({ type, role }: Fields): string {
  return textOf(type) || (role === undefined ? '' : 'message')
}

function isSystem(item: Fields): boolean {
  return typeOf(item) === 'message' && (item.role === 'system' || item.role === 'developer')
}

/** Returns the index of the first item after the leading system messages and tools. */
export function startOf(items: readonly Fields[]): number {
  const start = items.findIndex((item) => !isSystem(item) && typeOf(item) !== 'additional_tools')
  return start < 0 ? items.length : start
}

export function fromItems(items: readonly Fields[], table: ToolTable): ItemHistory {
  const start = startOf(items)
  const leading = items.slice(0, start).filter(isSystem)
  // A conversation needs something to answer.
  const spoken = start === items.length ? leading.slice(-1).map((item) => ({ ...item, role: 'user' })) : []
  const history = createHistory(outputsIn(items), table)
  for (const item of [...spoken, ...items.slice(start)]) history.add(item)
  const system = spoken.length > 0 ? leading.slice(0, -1) : leading
  return {
    system: system.map(plainText).filter((text) => text !== ''),
    messages: startedByUser(history.end()),
  }
}

function plainText({ content }: Fields): string {
  return fromParts(content, 'input')
    .map(({ text }) => textOf(text))
    .filter((text) => text !== '')
    .join('\n\n')
}

type Output = { readonly item: Fields; readonly at: number }

/** The outputs of calls by the id of their call. */
function outputsIn(items: readonly Fields[]): Map<string, Output> {
  const outputs = new Map<string, Output>()
  for (const [at, item] of items.entries()) {
    if (!isOutput(item)) continue
    const id = callIdOf(item)
    if (id === '')
      throw invalidRequest(`input[${at}]: a ${typeOf(item)} has no call_id; send the one of its call`)
    if (!outputs.has(id)) outputs.set(id, { item, at })
  }
  return outputs
}

function isOutput(item: Fields): boolean {
  return /_output$/.test(typeOf(item)) && !isModelItem(item)
}

/** Older items have only one id. */
function callIdOf({ call_id: callId, id }: Fields): string {
  return textOf(callId) || textOf(id)
}

type History = { readonly add: (item: Fields) => void; readonly end: () => readonly Fields[] }

function createHistory(outputs: ReadonlyMap<string, Output>, table: ToolTable): History {
  const messages: Fields[] = []
  const answered = new Set<string>()
  /** Items of the model since the client last spoke. */
  let run: Fields[] = []
  /** System messages since the model last spoke: the Messages API takes them only after the user's. */
  let remarks: Fields[] = []
  let additions = 0
  const searches = new Set<string>()
  /** Searches of the run without an output so far. */
  let unanswered = 0

  const push = (...given: (Fields | undefined)[]) => {
    for (const message of given) if (message) messages.push(message)
  }
  const outputOf = (call: Fields): Output => {
    const id = callIdOf(call)
    const output = outputs.get(id)
    if (!output)
      throw invalidRequest(`input: no output for the call "${id.slice(0, 80)}"; send one after the call`)
    if (answered.has(id)) throw invalidRequest(`input: two calls have the call_id "${id.slice(0, 80)}"`)
    answered.add(id)
    return output
  }
  const endRun = () => {
    const results = run.filter(isClientCall).map(outputOf)
    const outputsInOrder = results.sort((one, other) => one.at - other.at).map(({ item }) => item)
    push(assistantMessage(run, table), resultMessage(outputsInOrder, table))
    run = []
    unanswered = 0
  }
  /** Notes searches, and adds the call of an output that has none, because APIs refuse a result without a call. */
  const noteSearch = (item: Fields) => {
    const id = searchIdOf(item)
    if (item.type === 'tool_search_call') {
      searches.add(id)
      unanswered++
    } else if (unanswered > 0) unanswered--
    else if (!searches.has(id)) run.push({ type: 'tool_search_call', id })
  }
  const endRemarks = () => {
    push(messages.at(-1)?.role === 'user' ? systemMessage(remarks, table) : reminder(remarks, table))
    remarks = []
  }
  /** Tools added in the middle: as if the model had searched for them, so that the list of tools stays as it was. */
  const addTools = ({ tools }: Fields) => {
    const names = namesIn(listOf(tools), table)
    if (names.length === 0) return
    const id = `additional_tools_${++additions}`
    const call = { type: 'tool_use', id, name: table.searchName ?? 'tool_search', input: {} }
    const content = names.map((name) => ({ type: 'tool_reference', tool_name: name }))
    push(
      { role: 'assistant', content: [call] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content }] },
    )
  }

  return {
    add(item) {
      if (isModelItem(item)) {
        if (run.length === 0) endRemarks()
        if (isServerSearch(item)) noteSearch(item)
        run.push(item)
        return
      }
      endRun()
      if (isSystem(item)) remarks.push(item)
      else if (typeOf(item) === 'additional_tools') {
        endRemarks()
        addTools(item)
      } else if (!isOutput(item)) push(userMessage([item], table))
    },
    end() {
      endRun()
      endRemarks()
      for (const [id, { at }] of outputs)
        if (!answered.has(id))
          throw invalidRequest(`input[${at}]: there is no call for the call_id "${id.slice(0, 80)}"`)
      return messages
    },
  }
}

const assistantMessage = oncePerRun((run, table: ToolTable) =>
  message('assistant', assistantBlocks(run, table)),
)

const resultMessage = oncePerRun((outputs, table: ToolTable) =>
  message(
    'user',
    outputs.map((item) => resultBlock(item, callIdOf(item), table)),
  ),
)

const userMessage = oncePerRun((run, _: ToolTable) => message('user', run.flatMap(userBlocks)))

const systemMessage = oncePerRun((run, _: ToolTable) =>
  message(
    'system',
    run.flatMap(({ content }) => fromParts(content, 'input')),
  ),
)

const reminder = oncePerRun((run, _: ToolTable) => {
  const text = run.map(plainText).filter(Boolean).join('\n\n')
  return message('user', text === '' ? [] : [{ type: 'text', text: systemReminder(text) }])
})

function userBlocks(item: Fields): Fields[] {
  const type = typeOf(item)
  if (type === 'message' && item.role === 'user') return fromParts(item.content, 'input')
  if (type === 'agent_message') return fromParts(item.content, 'input')
  throw invalidRequest(
    type === 'message'
      ? `input: a message has the role "${String(item.role).slice(0, 40)}"; send user, assistant, system or developer`
      : `input: an item of type "${type.slice(0, 60)}" cannot be converted for this upstream; leave it out`,
  )
}

/** No API accepts an empty message. */
function message(role: string, content: readonly Fields[]): Fields | undefined {
  return content.length === 0 ? undefined : Object.freeze({ role, content })
}
