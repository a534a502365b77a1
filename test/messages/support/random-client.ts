// A client that knows nothing of tool search, and a model of chance behind the gateway: what each of them says is
// plain data that fast-check makes and shrinks.
import fc from 'fast-check'
import { createCollector, eventsOf } from '../../../src/core/index.ts'
import { blocksOf, signThinking } from '../../../src/core/oracle/index.ts'
import { CALL_TOOL, type Fields, fieldsOf, textOf } from '../../../src/lib/index.ts'
import type { MessagesRequest, StreamEvent, Upstream, UpstreamWire } from '../../../src/messages/index.ts'
import { createMessagesGateway, type MessagesGateway, parseModeSetting } from '../../../src/messages/index.ts'
import { rankers } from '../../../src/rankers/index.ts'
import { refusal, result, text, tool } from '../../oracle/requests.ts'

export const MODEL = 'claude-sonnet-5'

/** One block of a sampling. */
export type Bit =
  | { readonly kind: 'think' | 'text' }
  | { readonly kind: 'find'; readonly picks: readonly number[] }
  | { readonly kind: 'words' | 'vain' | 'again' }
  | {
      readonly kind: 'call'
      readonly which: 'loaded' | 'unseen' | 'immediate' | 'unknown'
      readonly pick: number
    }

const pick = fc.nat(59)
const search: fc.Arbitrary<Bit> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('find' as const),
      picks: fc.array(pick, { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('words', 'vain', 'again') }) },
) as fc.Arbitrary<Bit>
const call: fc.Arbitrary<Bit> = fc.record({
  kind: fc.constant('call' as const),
  which: fc.constantFrom('loaded', 'loaded', 'unseen', 'immediate', 'unknown'),
  pick,
})
const said: fc.Arbitrary<Bit> = fc.record({ kind: fc.constantFrom('think', 'text', 'text') })

/** What the model says in one sampling; thoughts come first, as models have them. */
export const anySampling: fc.Arbitrary<readonly Bit[]> = fc.oneof(
  { weight: 4, arbitrary: fc.array(fc.oneof(said, search, call), { minLength: 1, maxLength: 5 }) },
  { weight: 2, arbitrary: fc.array(search, { minLength: 1, maxLength: 2 }) },
)

/** The same with a call after each search that would end a reply: what it loaded is carried by the client. */
export function carried(samplings: readonly (readonly Bit[])[]): (readonly Bit[])[] {
  return samplings.map((bits, index) => {
    const search = bits.findLastIndex(({ kind }) => isSearch(kind))
    const call = bits.findLastIndex(({ kind }) => kind === 'call')
    const isOver = call >= 0 || index === samplings.length - 1
    const isOpen = samplings.slice(0, index).some((one) => one.some(({ kind }) => isSearch(kind)))
    if (search > call ? isOver : isOpen && call < 0 && search < 0)
      return [...bits, { kind: 'call', which: 'loaded', pick: index }]
    return bits
  })
}

function isSearch(kind: Bit['kind']): boolean {
  return kind === 'find' || kind === 'words' || kind === 'vain' || kind === 'again'
}

/** What a client does to the history that it sends again. */
export const habits = ['none', 'drops thinking', 'moves breakpoints', 'rewrites text'] as const
export type Habit = (typeof habits)[number]

const SERVICES = ['mail', 'issue', 'chart', 'room', 'song', 'flight']
const ACTIONS = ['send', 'list', 'open', 'close', 'draw', 'book', 'play', 'find', 'move', 'drop']

/** `Read` and so many others, as a client sends them. */
export function clientTools(count: number): Fields[] {
  const names = SERVICES.flatMap((service) => ACTIONS.map((action) => `${service}_${action}`))
  return [tool('Read'), ...names.slice(0, count).map((name) => tool(name))]
}

/** A request as the model got it. */
export type Received = { readonly request: MessagesRequest; readonly isFirst: boolean }

/** A model that says these things one after the other, and then that it is done; its thoughts may be bound (wire 44). */
export function randomModel(
  samplings: readonly (readonly Bit[])[],
  wire: UpstreamWire,
  tools: readonly Fields[],
  isBound = false,
) {
  const received: Received[] = []
  let turn = 0
  let ids = 0
  let isFirst = true
  const upstream: Upstream = {
    name: 'chance',
    api: 'messages',
    wireFor: () => ({ wire, why: 'asked for' }),
    async sample(request) {
      received.push({ request: JSON.parse(JSON.stringify(request)), isFirst })
      isFirst = false
      const fault = refusal(request, wire === 'native' ? {} : { isOldProxy: true })
      if (fault) throw new Error(`refused: ${fault}`)
      const bits = samplings[turn++] ?? [{ kind: 'text' as const }]
      const content: Fields[] = []
      for (const bit of bits) content.push(blockFor(bit, request, content))
      // A reply that ends in a thought is one that no API takes back.
      if (content.at(-1)?.type === 'thinking') content.push(blockFor({ kind: 'text' }, request, content))
      const isCall = content.some(({ type }) => type === 'tool_use')
      const message = {
        ...{ id: `msg_${turn}`, type: 'message', role: 'assistant', model: request.model, content },
        ...{ stop_reason: isCall ? 'tool_use' : 'end_turn', stop_sequence: null },
        usage: { input_tokens: 3, output_tokens: 2 },
      }
      return { events: streamed(message), headers: {} }
    },
    countTokens: async () => undefined,
    models: async () => ({ status: 200, headers: {}, body: '{}' }),
  }
  return {
    upstream,
    received,
    /** The next request starts a reply. */
    next: () => {
      isFirst = true
    },
    isDone: () => turn >= samplings.length,
  }

  function blockFor(bit: Bit, request: MessagesRequest, before: readonly Fields[]): Fields {
    const number = ++ids
    const id = `toolu_${number}`
    const hosted = request.tools?.find(({ name }) => textOf(name).startsWith('tool_search_tool_'))
    const name = textOf(hosted?.name ?? 'ToolSearch')
    const search = (query: string): Fields => ({ type: 'tool_use', id, name, input: { query } })
    const nameAt = (at: number) => textOf(tools[1 + (at % (tools.length - 1))]?.name)
    switch (bit.kind) {
      case 'think':
        return {
          type: 'thinking',
          thinking: `thought ${number}`,
          signature: isBound ? signThinking(request, before) : 's',
        }
      case 'text':
        return text(`words ${number}`)
      case 'find':
        return search(hosted ? bit.picks.map(nameAt).join(' ') : `select:${bit.picks.map(nameAt).join(',')}`)
      case 'words':
        return search('mail')
      case 'vain':
        return search('zzzqqq xxyyzz')
      case 'again':
        return search(`select:${loadedIn(request)[0] ?? 'zzzqqq'}`)
      case 'call':
        return called(bit.which, bit.pick, id, request)
    }
  }

  function called(which: string, pick: number, id: string, request: MessagesRequest): Fields {
    const loaded = loadedIn(request)
    const unseen = tools
      .map(({ name }) => textOf(name))
      .filter((name) => name !== 'Read' && !loaded.includes(name))
    const names = { loaded, unseen, immediate: ['Read'], unknown: ['no_such_tool'] }[which] ?? []
    const name = names[pick % Math.max(1, names.length)] ?? 'Read'
    const isListed = request.tools?.some((one) => one.name === name) && wire !== 'native'
    const isDirect = isListed || wire !== 'bridge' || which === 'unknown' || name === 'Read'
    return isDirect
      ? { type: 'tool_use', id, name, input: { key: id } }
      : { type: 'tool_use', id, name: CALL_TOOL, input: { name, arguments: { key: id } } }
  }
}

/** Deferred tools that the model has been shown, on any wire. */
export function loadedIn({ messages }: MessagesRequest): string[] {
  const results = messages
    .flatMap(({ content }) => blocksOf(content))
    .filter(({ type }) => type === 'tool_result' || type === 'tool_search_tool_result')
    .flatMap(({ content }) => blocksOf(Array.isArray(content) ? content : fieldsOf(content).tool_references))
  const names = results.flatMap((block) => {
    if (block.type === 'tool_reference') return [textOf(block.tool_name)]
    const list = /^Tools loaded: (.*?)\. (?:Call them|They are|Their def)/.exec(textOf(block.text))?.[1]
    return list?.split(', ') ?? []
  })
  return [...new Set(names)]
}

/** In small pieces, as models stream. */
async function* streamed(message: Fields): AsyncGenerator<StreamEvent> {
  for (const event of eventsOf(message)) {
    const delta = fieldsOf(event.delta)
    const key = ['text', 'partial_json'].find((name) => textOf(delta[name]) !== '')
    const pieces = key ? (textOf(delta[key]).match(/.{1,9}/gs) ?? []) : []
    if (key) for (const piece of pieces) yield { ...event, delta: { ...delta, [key]: piece } }
    else yield event
  }
}

export function openGateway(upstream: Upstream): MessagesGateway {
  const { lexical: own, bm25, regex } = rankers
  return createMessagesGateway({ upstream, rankers: { own, bm25, regex }, keep: [], notify: () => {} })
}

export type Ask = (request: MessagesRequest, owner?: string) => Promise<Fields>

/** Asks a gateway; the whole reply. */
export function asking(gateway: MessagesGateway, mode: 'shelve' | 'emulate' = 'shelve'): Ask {
  return async (request, owner = 'someone') => {
    const setting = parseModeSetting(mode)
    if (!setting) throw new Error('no such mode')
    const call = { headers: {}, signal: new AbortController().signal }
    const given = JSON.parse(JSON.stringify(request))
    const { sampled } = await gateway.reply(given, { setting, call, owner })
    if (!sampled || 'refused' in sampled) throw new Error('refused')
    const collector = createCollector()
    for await (const event of sampled.events) collector.add(event)
    return collector.message()
  }
}

/** The client's next messages after a reply: results for its calls, or further words. */
export function goOn(content: readonly Fields[], turn: number): Fields[] {
  const calls = content.filter(({ type }) => type === 'tool_use')
  const results = calls.map(({ id, name }) => result(textOf(id), `${name} ran`))
  const words = turn % 3 === 0 ? `Go on, ${turn}.` : [text(`Go on, ${turn}.`)]
  return [
    // Most clients leave out a reply that says nothing.
    ...(content.length > 0 ? [{ role: 'assistant', content }] : []),
    { role: 'user', content: results.length > 0 ? results : words },
  ]
}

/** The history as a client with this habit sends it. */
export function sentBy(habit: Habit, messages: readonly Fields[]): Fields[] {
  if (habit === 'none') return [...messages]
  return messages.map(({ role, content }, index) => {
    const blocks = blocksOf(content)
    const isLast = index === messages.length - 1
    if (habit === 'drops thinking') {
      const kept = blocks.filter(({ type }) => type !== 'thinking')
      return { role, content: kept.length > 0 ? kept : [text('…')] }
    }
    if (habit === 'rewrites text') return { role, content: isLast ? content : blocks.map(onlyKnown) }
    const marked = isLast || index === 0
    return marked
      ? { role, content: blocks.map((block, at) => (at === blocks.length - 1 ? withMark(block) : block)) }
      : { role, content }
  })
}

/** A block as a client writes it that keeps only what it knows. */
function onlyKnown(block: Fields): Fields {
  const { caller: _, ...rest } = block
  return { ...fieldsOf(rest) }
}

function withMark(block: Fields): Fields {
  return block.type === 'thinking' ? block : { ...block, cache_control: { type: 'ephemeral' } }
}
