// Reads HTTP logs: entries of a HAR file, or JSON lines with the bodies of requests and replies of the three APIs.
import { createHash } from 'node:crypto'
import { readingOf } from '../../core/oracle/index.ts'
import {
  type Fields,
  fieldsOf,
  isFields,
  listOf,
  textOf,
  toJson,
  withoutCacheControl,
} from '../../lib/index.ts'
import { chatApi, messagesApi, responsesApi } from '../../messages/inbound/index.ts'
import type { ApiName, MessagesRequest } from '../../messages/index.ts'
import { createMessageReader, type Recorder } from '../recorder.ts'
import { readHttpReply } from './http-reply.ts'

/** A request and its reply; the reply may be missing, or be the text of an event stream. */
export type Exchange = { readonly url: string; readonly request: Fields; readonly reply: unknown }

/** A reader of HTTP logs. */
export type HttpReader = {
  readonly read: (entry: Fields) => void
  /** Whether all requests were made to the Messages API, which takes references. */
  readonly takesReferences: () => boolean
}

const apis = { messages: messagesApi, chat: chatApi, responses: responsesApi }

/** Returns whether a line is a request, a reply, or both. */
export function isHttpLine(line: Fields): boolean {
  return exchangeIn(line) !== undefined || isReply(line)
}

type Conversation = { readonly lane: string; readonly system: string; messages: readonly string[] }

const MAX_CONVERSATIONS = 200

/** Creates a reader that assigns each request to the conversation that it continues. */
export function createHttpReader(recorder: Recorder): HttpReader {
  const conversations: Conversation[] = []
  const lists = createToolLists()
  let lanes = 0
  let isMessagesOnly = true
  /** A request whose reply is expected on the next line. */
  let waiting: Exchange | undefined

  /** Finds the conversation that a request continues, or edits; else starts one. */
  function conversationOf(system: string, messages: readonly string[]) {
    const continued = conversations.findLast((one) => isPrefix(one.messages, messages))
    const edited = conversations.findLast((one) => one.system === system && one.messages[0] === messages[0])
    const found = continued ?? edited
    if (found) return { found, isEdited: !continued }
    const started: Conversation = { lane: lanes++ === 0 ? '' : `conversation ${lanes}`, system, messages }
    conversations.push(started)
    if (conversations.length > MAX_CONVERSATIONS) conversations.shift()
    return { found: started, isEdited: false }
  }

  function record({ url, request: body, reply }: Exchange): void {
    const api = apiOf(url, body, reply)
    const { request } = apis[api].read(body)
    if (api !== 'messages') isMessagesOnly = false
    const prints = request.messages.map(fingerprint)
    const { found, isEdited } = conversationOf(fingerprint(request.system), prints)
    found.messages = prints
    recorder.resize(found.lane, charactersOf(request), isEdited)
    if (listOf(request.tools).some((tool) => fieldsOf(tool).defer_loading === true)) recorder.markDeferring()
    const answer = readHttpReply(api, reply)
    recorder.reply(found.lane, { ...answer, model: request.model, tools: lists(request.tools ?? []) })
  }

  return {
    read(line) {
      const exchange = exchangeIn(line)
      if (exchange && exchange.reply === undefined && !isHar(line)) {
        if (waiting) record(waiting)
        waiting = exchange
        return
      }
      if (waiting) record(isReply(line) ? { ...waiting, reply: line } : waiting)
      waiting = undefined
      if (exchange) record(exchange)
    },
    takesReferences: () => {
      if (waiting) record(waiting)
      waiting = undefined
      return isMessagesOnly
    },
  }
}

function isHar({ request }: Fields): boolean {
  return isFields(fieldsOf(request).postData)
}

/** A request of a HAR entry, of a line with both bodies, or a line that is the body itself. */
function exchangeIn(line: Fields): Exchange | undefined {
  if (isRequest(line)) return { url: '', request: line, reply: undefined }
  const { request, response } = line
  const { url, postData, body } = fieldsOf(request)
  const { content, body: replyBody } = fieldsOf(response)
  const given = parsed(isHar(line) ? fieldsOf(postData).text : (body ?? request))
  if (!isFields(given) || !isRequest(given)) return undefined
  const reply = isHar(line) ? decoded(fieldsOf(content)) : (replyBody ?? response)
  return { url: textOf(url) || textOf(line.url), request: given, reply }
}

function isRequest({ model, messages, input }: Fields): boolean {
  return (
    typeof model === 'string' &&
    (Array.isArray(messages) || Array.isArray(input) || typeof input === 'string')
  )
}

function isReply({ choices, output, content, role, usage }: Fields): boolean {
  return (
    [choices, output].some(Array.isArray) ||
    (role === 'assistant' && Array.isArray(content)) ||
    isFields(usage)
  )
}

function decoded({ text, encoding }: Fields): unknown {
  return encoding === 'base64' ? Buffer.from(textOf(text), 'base64').toString('utf8') : text
}

function parsed(value: unknown): unknown {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value)
  } catch {
    return undefined
  }
}

function apiOf(url: string, request: Fields, reply: unknown): ApiName {
  if (/\/chat\/completions\b/.test(url)) return 'chat'
  if (/\/responses\b/.test(url) || request.messages === undefined) return 'responses'
  if (/\/messages\b/.test(url)) return 'messages'
  const isChat =
    isFields(parsed(reply)) && Array.isArray(fieldsOf(parsed(reply)).choices)
      ? true
      : listOf(request.tools).some((tool) => isFields(fieldsOf(tool).function)) ||
        listOf(request.messages).some((message) =>
          /^(?:system|developer|tool)$/.test(textOf(fieldsOf(message).role)),
        )
  return isChat ? 'chat' : 'messages'
}

function charactersOf({ system, messages }: MessagesRequest): number {
  const read = createMessageReader()
  const own = readingOf({ system }).characters
  return messages.reduce((sum, message) => sum + read(message).characters, own)
}

function fingerprint(value: unknown): string {
  return createHash('sha1')
    .update(toJson(withoutCacheControl(value)))
    .digest('base64')
}

function isPrefix(known: readonly string[], messages: readonly string[]): boolean {
  return known.length <= messages.length && known.every((print, at) => print === messages[at])
}

/** Characters of all distinct tool lists of a log, as JSON. */
const MAX_DEFINITIONS = 64_000_000

/** Returns the same list for the same tools, and the last one when there are too many. */
function createToolLists(): (tools: readonly Fields[]) => readonly Fields[] {
  const lists = new Map<string, readonly Fields[]>()
  let left = MAX_DEFINITIONS
  let last: readonly Fields[] = []
  return (tools) => {
    const json = toJson(tools)
    const key = createHash('sha1').update(json).digest('base64')
    const known = lists.get(key)
    if (known || json.length > left) return known ?? last
    left -= json.length
    last = tools.map((tool) => Object.freeze({ ...tool }))
    lists.set(key, last)
    return last
  }
}
