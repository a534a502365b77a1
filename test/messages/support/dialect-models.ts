// Models behind OpenAI's languages, each as strict as its own server: what it thought must come back, its ids and its
// numbers hold. A model searches, calls what it found, and repeats the result; every reply has a thought of its own.
import { type Fields, fieldsOf, isFields, listOf } from '../../../src/lib/index.ts'
import { type ChatAnswer, chunk, completion, type ServerRules, serveChat } from './chat-server.ts'

export type DialectModel = {
  readonly url: URL
  readonly bodies: Fields[]
  /** What each reply with calls held beside them. */
  readonly thoughts: string[]
}

type Habits = {
  readonly rules: ServerRules
  /** What a reply of the model has in its message, and in its first call. */
  readonly inMessage?: (thought: string) => Fields
  readonly inCall?: (thought: string) => Fields
  readonly callId?: (number: number) => string
}

const assistantCalls = (body: Fields): Fields[] =>
  listOf(body.messages)
    .map(fieldsOf)
    .filter(({ tool_calls: calls }) => listOf(calls).length > 0)
const firstCall = ({ tool_calls: calls }: Fields) => fieldsOf(listOf(calls)[0])
const signatureIn = (call: Fields) => fieldsOf(fieldsOf(call.extra_content).google).thought_signature

/** The rules of each server, in the words in which it refuses. */
export const habits: { readonly [dialect: string]: Habits } = {
  deepseek: {
    rules: {
      fields: ['thinking'],
      assistantFields: ['reasoning_content'],
      fault: (body) =>
        assistantCalls(body).every((message) => typeof message.reasoning_content === 'string')
          ? undefined
          : 'The `reasoning_content` in the thinking mode must be passed back to the API.',
    },
    inMessage: (thought) => ({ reasoning_content: thought }),
  },
  kimi: {
    rules: {
      fields: ['thinking'],
      assistantFields: ['reasoning_content'],
      fault: (body) => {
        const index = assistantCalls(body).findIndex((message) => !message.reasoning_content)
        return index < 0
          ? undefined
          : `thinking is enabled but reasoning_content is missing in assistant tool call message at index ${index}`
      },
    },
    inMessage: (thought) => ({ reasoning_content: thought }),
    callId: (number) => `functions.search:${number}`,
  },
  gemini: {
    rules: {
      fault: (body) =>
        assistantCalls(body).every((message) => typeof signatureIn(firstCall(message)) === 'string')
          ? undefined
          : 'Function call is missing a thought_signature in functionCall parts.',
    },
    inCall: (thought) => ({ extra_content: { google: { thought_signature: thought } } }),
    callId: () => 'function-call-1',
  },
  mistral: {
    rules: {
      fault(body) {
        const messages = listOf(body.messages).map(fieldsOf)
        const calls = assistantCalls(body).flatMap(({ tool_calls: given }) => listOf(given).map(fieldsOf))
        const wrong = calls.find(({ id }) => !/^[a-zA-Z0-9]{9}$/.test(String(id)))
        if (wrong) return `Tool call id was ${wrong.id} but must be a-z, A-Z, 0-9, with a length of 9.`
        const isAfter = messages.some(({ role }, at) => role === 'user' && messages[at - 1]?.role === 'tool')
        return isAfter ? "Unexpected role 'user' after role 'tool'" : undefined
      },
    },
    callId: (number) => `abcdefgh${number}`,
  },
  openai: {
    rules: {
      fault: ({ tools }) =>
        listOf(tools).length > 128
          ? `Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length ${listOf(tools).length} instead.`
          : undefined,
    },
  },
}

/** Thoughts as a request gives them back, in order. */
export const given = (body: Fields): unknown[] =>
  assistantCalls(body).map((message) => message.reasoning_content ?? signatureIn(firstCall(message)))

/** Searches for `query`, then calls `target`. */
export async function startDialect(dialect: string, target: string, query: string): Promise<DialectModel> {
  const bodies: Fields[] = []
  const thoughts: string[] = []
  const { rules, inMessage, inCall, callId = (number: number) => `call_${number}` } = habits[dialect]!
  const { url } = await serveChat(({ method, body }): ChatAnswer => {
    if (method === 'GET') return { body: { data: [] } }
    bodies.push(body)
    const deed = next(body, target, query)
    const isStream = body.stream === true
    if (typeof deed === 'string') {
      const message = { content: deed, ...inMessage?.('the last thought') }
      return isStream
        ? { data: [chunk(message), chunk({}, 'stop'), '[DONE]'] }
        : { body: completion(message) }
    }
    const thought = `thought ${thoughts.length}`
    thoughts.push(thought)
    const call = {
      id: callId(bodies.length),
      type: 'function',
      function: { name: deed.name, arguments: JSON.stringify(deed.input) },
      ...inCall?.(thought),
    }
    if (!isStream)
      return {
        body: completion({ content: null, ...inMessage?.(thought), tool_calls: [call] }, 'tool_calls'),
      }
    const data = [chunk({ tool_calls: [{ index: 0, ...call }] }), chunk({}, 'tool_calls'), '[DONE]']
    return { data: inMessage ? [chunk(inMessage(thought)), ...data] : data }
  }, rules)
  return { url, bodies, thoughts }
}

function next(body: Fields, target: string, query: string): string | { name: string; input: Fields } {
  const messages = listOf(body.messages).map(fieldsOf)
  const asked = messages.findLastIndex(
    ({ role, content }) => role === 'user' && String(content).includes('go'),
  )
  const results = messages.slice(asked).filter(({ role }) => role === 'tool')
  if (results.some(({ content }) => String(content).includes('it ran'))) return 'Done.'
  const tools = listOf(body.tools).map((tool) => fieldsOf(fieldsOf(tool).function))
  const names = tools.map(({ name }) => name)
  if (names.includes(target)) return { name: target, input: { text: 'x' } }
  const search = tools.find(({ name }) => /ToolSearch|tool_search_tool/.test(String(name)))
  if (!search || results.length > 3) return `I cannot see ${target}.`
  const { properties } = fieldsOf(search.parameters)
  const [key = 'query'] = isFields(properties) ? Object.keys(properties) : []
  return { name: String(search.name), input: { [key]: query } }
}
