// Records what each turn of the demo cost with Toolshelf and would have cost without, from the requests actually sent.
import { type AgentEvent, createAgentMeter } from '@toolshelf/agent'
import { type AgentMeter, isPreload, type TokenUsage } from '@toolshelf/agent/internal'
import type { Shelf } from '@toolshelf/core'
import {
  addFigures,
  allDefinitionTokens,
  type BilledTokens,
  extendsPrefix,
  type Figures,
  noFigures,
  type PriceTable,
  type PromptSegment,
  priceOf,
  renderRequest,
  SEARCH_TOOL,
} from '@toolshelf/core/internal'

export type LedgerTurn = Figures & {
  readonly prompt: string
  readonly loaded: readonly string[]
  /** Those that needed no search because the message named them. */
  readonly preloaded: readonly string[]
  readonly called: readonly string[]
  readonly searches: number
  /** Requests that start with the whole previous one: what a prompt cache reuses. */
  readonly prefixKept: number
}

/** The cost of all turns. */
export type LedgerTotal = ReturnType<Ledger['total']>

/** Records the cost of each turn. */
export type Ledger = ReturnType<typeof createLedger>

type LedgerOptions = {
  readonly shelf: Shelf
  readonly prices: PriceTable
  /** The model that is asked, or whose prices are used. */
  readonly model: string
  /** No API reports usage: requests count as if their longest known prefix came from a prompt cache. */
  readonly isScript: boolean
}

type Page = { -readonly [Field in Exclude<keyof LedgerTurn, keyof Figures>]: LedgerTurn[Field] } & {
  readonly meter: AgentMeter
}

export function createLedger({ shelf, prices, model, isScript }: LedgerOptions) {
  const pages: Page[] = []
  const cache = createPrefixCache()
  const bill = isScript ? (request: object, usage: TokenUsage) => cache.bill(request, usage) : undefined
  const known = () => new Set(pages.flatMap(({ loaded }) => loaded))
  const isPriced = priceOf(model, prices) !== undefined
  /** Whether the last request began with the whole one before it. */
  let isKept = false

  function load(page: Page, event: Extract<AgentEvent, { type: 'result' }>): void {
    const before = known()
    const added = event.loaded.filter((name) => !before.has(name))
    page.loaded = [...page.loaded, ...added]
    if (isPreload(event.call)) page.preloaded = [...page.preloaded, ...added]
  }

  const turns = () => pages.map(({ meter, ...page }): LedgerTurn => ({ ...page, ...meter.figures() }))
  return {
    get turns() {
      return turns()
    },
    /** A user message begins a turn. */
    begin(prompt: string) {
      const nothing = { loaded: [], preloaded: [], called: [], searches: 0, prefixKept: 0 }
      const meter = createAgentMeter({ shelf, prices, pricedAs: model, ...(bill ? { bill } : {}) })
      pages.push({ prompt, ...nothing, meter })
    },
    follow(event: AgentEvent) {
      const page = pages.at(-1)
      if (!page) return
      if (event.type === 'request') isKept = cache.see(event.sent.request)
      if (event.type === 'reply') {
        // A request that failed and was sent again counts once.
        if (isKept) page.prefixKept++
        page.searches += event.content.filter(
          ({ type, name }) => type === 'tool_use' && name === SEARCH_TOOL,
        ).length
      }
      if (event.type === 'result') {
        load(page, event)
        const { name } = event.call
        if (name !== SEARCH_TOOL && !page.called.includes(name)) page.called = [...page.called, name]
      }
      page.meter.follow(event)
    },
    total() {
      const all = turns()
      const figures = all.reduce<Figures>(addFigures, noFigures)
      const { tokensWithout, tokensSaved } = figures
      const tools = shelf.tools()
      return {
        ...figures,
        /** Percent of `tokensWithout`. */
        savedShare: tokensWithout === 0 ? 0 : Math.round((1000 * tokensSaved) / tokensWithout) / 10,
        searches: pages.reduce((sum, { searches }) => sum + searches, 0),
        prefixKept: pages.reduce((sum, { prefixKept }) => sum + prefixKept, 0),
        tools: tools.length,
        /** Tokens of all definitions, as each request would contain them; an estimate by length. */
        definitionTokens: allDefinitionTokens(tools),
        /** The model whose prices are used, and the date of the price table. Missing if the model has no price. */
        ...(isPriced ? { pricedAs: model, pricesOf: prices.date } : {}),
      }
    },
  }
}

/** Simulates a prompt cache that keeps the last request, like an API with automatic caching. */
function createPrefixCache() {
  let last: readonly PromptSegment[] | undefined
  let share = 0
  return {
    /** Takes a request and returns whether it starts with the whole previous one. */
    see(request: object): boolean {
      const segments = renderRequest(request)
      const check = last ? extendsPrefix(last, segments) : undefined
      const kept = !check ? 0 : check.extends ? (last?.length ?? 0) : check.at
      share = lengthOf(segments.slice(0, kept)) / Math.max(1, lengthOf(segments))
      last = segments
      return check?.extends ?? true
    },
    bill(_request: object, { input, cached, output }: TokenUsage): BilledTokens {
      const cacheRead = Math.round((input + cached) * share)
      return { input: 0, cacheRead, cacheWrite: input + cached - cacheRead, cacheWrite1h: 0, output }
    },
  }
}

function lengthOf(segments: readonly PromptSegment[]): number {
  return segments.reduce((sum, { text }) => sum + text.length, 0)
}
