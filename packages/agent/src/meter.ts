// Measures what an agent's conversation cost and what tool search saved, from the agent's events.
import type { Message, Shelf } from '@toolshelf/core'
import {
  addFigures,
  type Figures,
  figuresOf,
  hasCacheMarks,
  listOf,
  type MeasuredRequest,
  noFigures,
  type PriceTable,
  priceOf,
  readingOf,
  readPrices,
  type Sampling,
  prices as shippedPrices,
  withoutToolSearch,
} from '@toolshelf/core/internal'
import type { AgentEvent, SentRequest, TokenUsage } from './types.ts'
import { billedBy } from './usage.ts'

/** Adds up what the agent's requests cost with and without tool search. */
export type AgentMeter = {
  /** Records an event of the agent; pass all of them, including those of sub-agents. */
  readonly follow: (event: AgentEvent) => void
  /** Figures for all finished requests and the current one. */
  readonly figures: () => Figures
}

type AgentMeterOptions = {
  /** The shelf whose definitions a request without tool search would contain. */
  readonly shelf: Shelf
  /** Replaces the built-in price table. */
  readonly prices?: PriceTable
  /** The model whose prices to use instead of the actual one's. Default: the model of each request. */
  readonly pricedAs?: string
  /** Overrides how a sampling was billed. */
  readonly bill?: (request: object, usage: TokenUsage) => Sampling['billed']
}

/** The request in progress: one that the agent would also have made without tool search. */
type Going = Omit<MeasuredRequest, 'samplings'> & { readonly samplings: Sampling[] }

/** The state of one agent; each sub-agent has its own. */
type Lane = { sent: object | undefined; going: Going | undefined; readonly inner: Map<string, Lane> }

/**
 * Creates a meter for `agent.send`. A reply that only searches leads to another sampling of the same request; any other reply
 * ends the request, as does one that breaks off: without tool search it would have broken off, too.
 *
 * @example
 * const meter = createAgentMeter({ shelf })
 * for await (const event of agent.send('hello')) meter.follow(event)
 * console.log(meter.figures().tokensSaved)
 */
export function createAgentMeter(options: AgentMeterOptions): AgentMeter {
  const { shelf, pricedAs, bill = (_, usage) => billedBy(usage) } = options
  const prices = options.prices ? readPrices(options.prices) : shippedPrices
  const main = newLane()
  let total = noFigures

  function begin(lane: Lane, { request }: SentRequest): void {
    lane.sent = request
    if (lane.going) return
    const definitions = shelf.tools().map(({ definition }) => definition)
    const without = withoutToolSearch(request, { definitions, searchTool: shelf.searchTool })
    lane.going = {
      charactersWithout: readingOf(without).characters,
      samplings: [],
      hasCacheMarks: hasCacheMarks(request),
      isContinued: listOf(request.messages).some((message) => (message as Message).role === 'assistant'),
      price: priceOf(pricedAs ?? request.model, prices),
    }
  }

  function end(lane: Lane): void {
    const figures = lane.going && figuresOf(lane.going)
    if (figures) total = addFigures(total, figures)
    lane.going = undefined
    lane.sent = undefined
  }

  function follow(event: AgentEvent, lane: Lane): void {
    if (event.type === 'request') begin(lane, event.sent)
    if ((event.type === 'reply' || event.type === 'broken-off') && lane.sent) {
      const { characters } = readingOf(lane.sent)
      lane.going?.samplings.push({ characters, billed: bill(lane.sent, event.usage) })
      if (event.type === 'broken-off' || !isSearch(event.content, shelf.searchTool)) end(lane)
    }
    if (event.type === 'end') end(lane)
    if (event.type === 'inside') {
      const inner = lane.inner.get(event.call.id) ?? newLane()
      lane.inner.set(event.call.id, inner)
      follow(event.event, inner)
      if (event.event.type === 'end') lane.inner.delete(event.call.id)
    }
  }

  return {
    follow: (event) => follow(event, main),
    figures: () => goingIn(main).reduce(addFigures, total),
  }
}

function newLane(): Lane {
  return { sent: undefined, going: undefined, inner: new Map() }
}

function goingIn({ going, inner }: Lane): Figures[] {
  const figures = going && figuresOf(going)
  return [...(figures ? [figures] : []), ...[...inner.values()].flatMap(goingIn)]
}

/** Whether a reply only searches, so that the same request continues with another sampling. */
function isSearch(content: readonly Message[], searchTool: string): boolean {
  const calls = content.filter(({ type }) => type === 'tool_use')
  return calls.length > 0 && calls.every(({ name }) => name === searchTool)
}
