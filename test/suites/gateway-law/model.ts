// The model behind the gateway: it says what fast-check drew, in front of the oracle, which refuses what the API would. What
// it said is what the client must see, but for its searches.
import fc from 'fast-check'
import type { Loose } from '../../../packages/testkit/src/talk.ts'
import { signThinking, type Upstream, validateRequest } from '../../doors.ts'

/** One block that the model says. */
export type Bit =
  | { readonly kind: 'text' | 'think' }
  | { readonly kind: 'search'; readonly how: 'names' | 'words' | 'vain' | 'again'; readonly pick: number }
  | {
      readonly kind: 'call'
      readonly which: 'loaded' | 'unseen' | 'always' | 'unknown'
      readonly pick: number
    }
/** What it says in each of its samplings; then it is done. */
export type Script = readonly (readonly Bit[])[]

const pick = fc.nat(59)
const search = fc.record({
  kind: fc.constant('search' as const),
  how: fc.constantFrom('names', 'names', 'words', 'vain', 'again'),
  pick,
})
const call = fc.record({
  kind: fc.constant('call' as const),
  which: fc.constantFrom('loaded', 'loaded', 'unseen', 'always', 'unknown'),
  pick,
})
const words = fc.record({ kind: fc.constantFrom('think', 'text', 'text') })
const sampling = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.array(fc.oneof(words, search, call), { minLength: 1, maxLength: 4 }),
  },
  { weight: 2, arbitrary: fc.array(search, { minLength: 1, maxLength: 2 }) },
)
export const anyScript = fc.array(sampling, { maxLength: 10, size: 'max' }) as fc.Arbitrary<Script>

/** Every search is followed by a call in the same reply, whose id carries what it found. */
export const carriedScript = anyScript.map((script): Script => {
  let isOpen = false
  return script.map((bits, index) => {
    const last = (kind: Bit['kind']) => bits.findLastIndex((bit) => bit.kind === kind)
    isOpen = last('search') > last('call') || (isOpen && last('call') < 0)
    const endsReply = last('call') >= 0 || last('search') < 0 || index === script.length - 1
    if (!isOpen || !endsReply) return bits
    isOpen = false
    return [...bits, { kind: 'call', which: 'loaded', pick: index }]
  })
})

export type Block =
  | { readonly text: string }
  | { readonly thinking: string }
  | { readonly call: string; readonly input: Loose }

/** One sampling: the request that the model got, and what the client has to see of its reply. */
export type Sampling = {
  /** It failed on the way: what a client sees of its reply is that of the next attempt. */
  readonly isFailed?: boolean
  readonly request: Loose
  readonly headers: { readonly [name: string]: string }
  readonly blocks: readonly Block[]
  readonly isSearch: boolean
  readonly stop: string
  readonly usage: { readonly input: number; readonly output: number }
}

/** How and where the model's API fails: at an event of a sampling, both counted from 0. */
export type Failure = {
  readonly sampling: number
  readonly event: number
  readonly how: 'refuses' | 'throws' | 'ends' | 'reports' | 'hangs'
}

export const SEARCH = /^(ToolSearch|tool_search_tool_(bm25|regex)(_\w+)?)$/
export const FILES = ['read', 'write', 'list', 'move', 'find', 'open', 'seal', 'copy', 'sort', 'pack']
const SERVERS = ['mail', 'issue', 'chart', 'room', 'song', 'flight']
export const NAMES = SERVERS.flatMap((server) => FILES.map((file) => `mcp__${server}__${file}`))
export const ALWAYS = 'Read'

export const blocksOf = (content: Loose): Loose[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])
const blocksIn = ({ messages }: Loose): Loose[] => messages.flatMap((one: Loose) => blocksOf(one.content))
const isDirect = ({ defer_loading: isDeferred, name }: Loose) => !isDeferred && name !== undefined

/** The tools that the model can call by now, on any wire, but for searches. */
export function loadedIn(request: Loose): string[] {
  const listed = (request.tools ?? []).filter(isDirect).map(({ name }: Loose) => name)
  const results = blocksIn(request).filter(({ type }) => /tool_result$/.test(type))
  const found = results.flatMap(({ content }) => {
    const inner = Array.isArray(content) ? content : (content?.tool_references ?? blocksOf(content ?? []))
    return blocksOf(inner).flatMap(({ type, tool_name: name, text = '' }: Loose) => {
      if (type === 'tool_reference') return [name]
      return /^Tools loaded: (.*?)\. (?:Call them|They are|Their def)/m.exec(text)?.[1]?.split(', ') ?? []
    })
  })
  return [...new Set<string>([...listed, ...found])].filter(
    (name) => !SEARCH.test(name) && name !== 'CallTool',
  )
}

export const calledIn = (request: Loose): string[] =>
  blocksIn(request).flatMap(({ type, name, input }) =>
    type !== 'tool_use' || SEARCH.test(name) ? [] : [name === 'CallTool' ? input.name : name],
  )

export const toolFor = (name: string): Loose => ({
  name,
  description: `does ${name.replaceAll('__', ' ')}`,
  input_schema: { type: 'object', properties: { [`${name.split('__').at(-1)}_key`]: { type: 'string' } } },
})

/** Blocks, or also `usage` and `stop_reason`, or an answer that refuses the request. */
export type Says = (request: Loose, sampling: number) => Loose

type ModelOptions = {
  readonly script: Script
  /** `old` is an API from before tool search. */
  readonly api: 'new' | 'old'
  readonly tools?: readonly string[]
  readonly failure?: Failure | undefined
  readonly maxTools?: number
  /** Binds its thinking to all that is in front of it. */
  readonly bindsThinking?: boolean
  /** Called where the failure hangs. */
  readonly onHang?: () => void
  /** In place of the script. */
  readonly says?: Says
}

/** A model that plays a script; `refusals` are requests that its API would not have taken. */
export function createModel(options: ModelOptions) {
  const { script, api, tools = NAMES, failure, maxTools, bindsThinking, says, onHang = () => {} } = options
  const samplings: Sampling[] = []
  const refusals: string[] = []
  const aborted: boolean[] = []
  const failed: Failure[] = []
  let ids = 0

  function upstream(wire: 'native' | 'append' | 'bridge'): Upstream {
    return {
      name: 'model',
      api: 'messages',
      wireFor: () => ({ wire, why: 'asked for', ...(maxTools === undefined ? {} : { maxTools }) }),
      async sample(request, { headers, signal }) {
        const given = JSON.parse(JSON.stringify(request))
        const betas = (headers['anthropic-beta'] ?? '').split(',').filter(Boolean)
        const error = validateRequest(given, {
          betas,
          isOldProxy: api === 'old',
          bindsThinking: bindsThinking ?? false,
        })
        if (error) refusals.push(error.body.error.message)
        if (error) return { refused: { status: 400, headers: {}, body: JSON.stringify(error.body) } }
        const said = says?.(given, samplings.length)
        if (said?.refused) {
          samplings.push({ ...play(given, headers), isFailed: true })
          return { refused: said.refused }
        }
        const isFailing = failure?.sampling === samplings.length
        if (isFailing && failure.how === 'refuses') {
          samplings.push({ ...play(given, headers), isFailed: true })
          failed.push(failure)
          return { refused: OVERLOADED }
        }
        const message = messageOf(given, headers, said)
        const at = samplings.length - 1
        const number = aborted.push(false) - 1
        signal.addEventListener('abort', () => {
          aborted[number] = true
        })
        const events = eventsOf(message)
        return {
          headers: {},
          events: isFailing
            ? failing(events, failure, { signal, onHang, fail: () => fail(failure, at) })
            : plain(events),
        }
      },
      countTokens: async () => undefined,
      models: async () => ({ status: 200, headers: {}, body: '{"data":[{"id":"some","type":"model"}]}' }),
    }
  }

  function fail(failure: Failure, at: number) {
    failed.push(failure)
    if (failure.how !== 'ends') samplings[at] = { ...(samplings[at] as Sampling), isFailed: true }
  }

  function messageOf(request: Loose, headers: Sampling['headers'], own?: Loose): Loose {
    const content: Loose[] = [...(own?.content ?? own ?? [])]
    const said = play(request, headers, content)
    samplings.push(said)
    const { input, output } = said.usage
    const usage = { input_tokens: input - 3, cache_read_input_tokens: 3, output_tokens: output }
    const message = { type: 'message', role: 'assistant', model: request.model, content, usage }
    return {
      ...message,
      id: `msg_${samplings.length}`,
      stop_reason: said.stop,
      stop_sequence: null,
      ...(own ? moreOf(own) : {}),
    }
  }

  function play(request: Loose, headers: Sampling['headers'], content: Loose[] = []): Sampling {
    const number = samplings.length
    // A model that thinks by hand does so first in each of its samplings.
    const bits =
      request.thinking?.type === 'enabled'
        ? [{ kind: 'think' as const }, ...(script[number] ?? [])]
        : script[number]
    for (const bit of says ? [] : (bits ?? [])) content.push(...blockFor(bit, request, content))
    // Thoughts alone, or at the end, are nothing that an API takes back.
    if (content.length === 0 || content.at(-1).type === 'thinking') content.push(blockOfText())
    const isCall = content.some(({ type }) => type === 'tool_use')
    const blocks = content.flatMap(({ type, name, input, text, thinking }): Block[] => {
      if (type === 'text') return [{ text }]
      if (type === 'thinking') return [{ thinking }]
      if (SEARCH.test(name) || SEARCH.test(input.name)) return []
      return [
        name === 'CallTool' && input.arguments
          ? { call: input.name, input: input.arguments }
          : { call: name, input },
      ]
    })
    return {
      ...{ request, headers, blocks, isSearch: content.some(({ name = '' }) => SEARCH.test(name)) },
      ...{ stop: isCall ? 'tool_use' : 'end_turn', usage: { input: 100 + number, output: 2 + number } },
    }
  }

  const blockOfText = () => ({ type: 'text', text: `words ${++ids}` })

  function blockFor(bit: Bit, request: Loose, before: readonly Loose[]): Loose[] {
    const id = `toolu_${++ids}`
    const search = request.tools?.map(({ name }: Loose) => name).find((name: string) => SEARCH.test(name))
    const nameAt = (index: number) => tools[index % tools.length] as string
    const loaded = loadedIn(request)
    if (bit.kind === 'text') return [blockOfText()]
    if (bit.kind === 'think') {
      if (!/enabled|adaptive/.test(request.thinking?.type)) return []
      const signature = bindsThinking ? signThinking(request, before) : 's'
      return [{ type: 'thinking', thinking: `thought ${ids}`, signature }]
    }
    if (bit.kind === 'search') {
      const names = [nameAt(bit.pick), nameAt(bit.pick * 7 + 1)]
      const by = search === 'ToolSearch' ? `select:${names}` : names.join(' ').replaceAll('__', ' ')
      const again = search === 'ToolSearch' ? `select:${loaded.at(-1)}` : (loaded.at(-1) ?? 'mail')
      const query = { names: by, words: 'mail', vain: 'zzzqqq xxyyzz', again }[bit.how]
      return search ? [{ type: 'tool_use', id, name: search, input: { query } }] : []
    }
    const unseen = tools.filter((name) => !loaded.includes(name))
    const found = loaded.filter((name) => name !== ALWAYS)
    const which = { loaded: found, unseen, always: [ALWAYS], unknown: ['no_such_tool'] }
    const { which: kind, pick } = bit as Extract<Bit, { kind: 'call' }>
    const from = which[kind]
    return [callOf(id, from[pick % Math.max(1, from.length)] ?? ALWAYS, request)]
  }

  return { upstream, samplings, refusals, aborted, failed, isDone: () => samplings.length >= script.length }
}

const OVERLOADED = {
  status: 529,
  headers: { 'x-should-retry': 'false' },
  body: '{"type":"error","error":{"type":"overloaded_error","message":"the model is busy"}}',
}

/** A call of a tool, through CallTool if it is not in the list of tools. */
export function callOf(id: string, name: string, { tools = [] }: Loose, input: Loose = { key: id }): Loose {
  const names = tools.map((tool: Loose) => tool.name)
  const isThrough = names.includes('CallTool') && !names.includes(name)
  return isThrough
    ? { type: 'tool_use', id, name: 'CallTool', input: { name, arguments: input } }
    : { type: 'tool_use', id, name, input }
}

/** What a test says of a reply besides its blocks. */
const moreOf = (own: Loose) => (Array.isArray(own) ? {} : own)

async function* plain(events: Iterable<Loose>) {
  yield* events
}

type Failing = { readonly signal: AbortSignal; readonly onHang: () => void; readonly fail: () => void }

async function* failing(
  events: Iterable<Loose>,
  { event: last, how }: Failure,
  { signal, onHang, fail }: Failing,
) {
  let number = 0
  for (const event of events) {
    if (number++ === last) {
      fail()
      if (how === 'throws') throw new Error('the connection broke')
      if (how === 'reports') yield JSON.parse(OVERLOADED.body)
      if (how !== 'hangs') return
      onHang()
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      signal.throwIfAborted()
    }
    yield event
  }
}

/** The events of a message, in small pieces as models stream. */
export function* eventsOf({
  content,
  stop_reason,
  stop_sequence,
  usage,
  ...message
}: Loose): Generator<Loose> {
  const start = { ...usage, output_tokens: 1 }
  yield { type: 'message_start', message: { ...message, content: [], stop_reason: null, usage: start } }
  for (const [index, block] of content.entries()) {
    const { text, thinking, signature, input, ...rest } = block
    const delta = (type: string, field: string, value: string) => ({
      ...{ type: 'content_block_delta', index },
      delta: { type, [field]: value },
    })
    const empty =
      text !== undefined
        ? { text: '' }
        : thinking !== undefined
          ? { thinking: '', signature: '' }
          : { input: {} }
    yield { type: 'content_block_start', index, content_block: { ...rest, ...empty } }
    for (const piece of text?.match(/.{1,9}/gs) ?? []) yield delta('text_delta', 'text', piece)
    for (const piece of thinking?.match(/.{1,9}/gs) ?? []) yield delta('thinking_delta', 'thinking', piece)
    if (signature !== undefined) yield delta('signature_delta', 'signature', signature)
    const json = typeof input === 'string' ? input : JSON.stringify(input)
    for (const piece of json?.match(/.{1,9}/gs) ?? []) yield delta('input_json_delta', 'partial_json', piece)
    yield { type: 'content_block_stop', index }
  }
  yield {
    type: 'message_delta',
    delta: { stop_reason, stop_sequence },
    usage: { output_tokens: usage.output_tokens },
  }
  yield { type: 'message_stop' }
}

/** What the client has to see of these samplings: their words and calls as one reply, with the usage of all. */
export function shownOf(all: readonly Sampling[]) {
  const samplings = all.filter(({ isFailed }) => !isFailed)
  const sum = (field: 'input' | 'output') => samplings.reduce((total, one) => total + one.usage[field], 0)
  const blocks = samplings.flatMap((one) => one.blocks)
  const isCall = blocks.some((block) => 'call' in block)
  return {
    blocks: joined(blocks),
    stop: isCall ? 'tool_use' : 'end_turn',
    usage: { input: sum('input'), output: sum('output') },
  }
}

/** Texts that follow each other as one. */
export function joined(blocks: readonly Block[]): Block[] {
  const all: Block[] = []
  for (const block of blocks) {
    const last = all.at(-1)
    if (last && 'text' in last && 'text' in block) all[all.length - 1] = { text: last.text + block.text }
    else if (!('text' in block) || block.text !== '') all.push(block)
  }
  return all
}
