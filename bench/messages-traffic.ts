// Generates all kinds of traffic for the soak: each mode, with and without searches, streamed and whole, clients that disconnect,
// upstreams that fail. Unexpected failures are counted.
import { Agent, type IncomingMessage, request } from 'node:http'
import { createReader, replies } from './messages-events.ts'
import { synthetic } from './synthetic.ts'

export type Traffic = {
  /** Makes one request and waits for its end, successful or not. */
  readonly one: () => Promise<void>
  /** How often each outcome occurred. */
  readonly counts: ReadonlyMap<Mode, Readonly<Record<Outcome, number>>>
  /** Requests that failed unexpectedly. */
  readonly wrong: readonly Visit[]
  readonly close: () => void
}

type Mode = 'pass' | 'emulate' | 'shelve'

/** Outcomes: a whole reply, a client that disconnected, an upstream that failed, or an unexpected failure. */
type Outcome = 'whole' | 'left' | 'failed' | 'wrong'

type Visit = {
  readonly mode: Mode
  readonly isStream: boolean
  readonly isSearching: boolean
  readonly isLeaving: boolean
  readonly fate: string | undefined
  readonly events: number
}

const MODES: readonly Mode[] = ['pass', 'emulate', 'shelve']
const FATES = ['reset', 'refuse', 'garbage', 'cut']
const SEARCH_TOOLS = { pass: undefined, emulate: 'tool_search_tool_bm25', shelve: 'ToolSearch' }
const TOOLS = 100
const TOOLS_OF_CLIENT = 30
/** More than the gateway remembers. */
const CLIENTS = 40

export function createTraffic(url: string): Traffic {
  const agent = new Agent({ keepAlive: true })
  const counts = new Map(MODES.map((mode) => [mode, { whole: 0, left: 0, failed: 0, wrong: 0 }]))
  const wrong: Visit[] = []
  const { tools } = synthetic(TOOLS)
  const toolsOf = (client: number) =>
    Array.from({ length: TOOLS_OF_CLIENT }, (_, index) => tools[(client * 2 + index) % TOOLS]!.definition)
  const catalogues = Array.from({ length: CLIENTS }, (_, client) => toolsOf(client))

  async function one(): Promise<void> {
    const visit = newVisit()
    const outcome = await send(visit, catalogues[Math.floor(Math.random() * CLIENTS)]!)
    const ofMode = counts.get(visit.mode)!
    ofMode[outcome]++
    if (outcome === 'wrong') wrong.push(visit)
  }

  function send(visit: Visit, given: readonly object[]): Promise<Outcome> {
    const { mode, isStream, isSearching, isLeaving, fate, events } = visit
    const body = JSON.stringify({
      model: 'bench',
      max_tokens: 1000,
      stream: isStream,
      tools: mode === 'emulate' ? deferred(given) : given,
      messages: [{ role: 'user', content: `Say ${Math.random()}.` }],
    })
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'x-toolshelf-mode': mode,
      'x-events': events,
      'x-pause': 20,
      ...(fate ? { 'x-fate': fate } : {}),
      ...(isSearching ? { 'x-search': SEARCH_TOOLS[mode] } : {}),
    }
    return new Promise((resolve) => {
      const outgoing = request(`${url}/v1/messages`, { method: 'POST', agent, headers }, (incoming) => {
        resolve(outcomeOf(incoming, visit))
      })
      outgoing.once('error', () => resolve(brokenOff(visit)))
      outgoing.end(body)
      if (isLeaving) setTimeout(() => outgoing.destroy(), Math.random() * events * 20)
    })
  }

  return { one, counts, wrong, close: () => agent.destroy() }
}

function newVisit(): Visit {
  const mode = MODES[Math.floor(Math.random() * MODES.length)]!
  const kind = Math.random()
  return {
    mode,
    isStream: mode === 'pass' || Math.random() < 0.8,
    isSearching: mode !== 'pass' && Math.random() < 0.4,
    isLeaving: kind < 0.2,
    fate: kind > 0.8 ? FATES[Math.floor(Math.random() * FATES.length)] : undefined,
    events: 10 + Math.floor(Math.random() * 100),
  }
}

async function outcomeOf(incoming: IncomingMessage, visit: Visit): Promise<Outcome> {
  const reader = createReader(replies.messages.mark)
  let received = 0
  let said = ''
  try {
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      reader.read(chunk, () => received++)
      if (!visit.isStream) said += String(chunk)
    }
  } catch {
    return brokenOff(visit)
  }
  const words = visit.isStream ? received : said.split(' word').length - 1
  return incoming.statusCode === 200 && words === visit.events ? 'whole' : brokenOff(visit)
}

/** Returns why a reply is incomplete. */
function brokenOff({ isLeaving, fate }: Visit): Outcome {
  return isLeaving ? 'left' : fate ? 'failed' : 'wrong'
}

/** As a client that knows tool search sends them. */
function deferred(tools: readonly object[]): object[] {
  const search = { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' }
  return [search, ...tools.map((tool) => ({ ...tool, defer_loading: true }))]
}
