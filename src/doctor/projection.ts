// What twenty requests would cost with these tools, with and without Toolshelf: the figures of docs/figures.md, foretold.
import {
  addFigures,
  type BilledTokens,
  type Figures,
  figuresOf,
  noFigures,
  type PriceTable,
  priceOf,
  prices as shippedPrices,
} from '../core/figures/index.ts'

/** Figures of a conversation that nobody had: `REQUESTS` requests, a search in the first one. */
export type Projection = Figures & {
  readonly searches: number
  /** Tokens of the system prompt and the messages, taken to be the same in each request. */
  readonly conversationTokens: number
  /** The model at whose prices dollars are, and the day of the price table. Missing where it has no price. */
  readonly pricedAs?: string
  readonly pricesOf?: string
  /** The same where the upstream caches no prompts. */
  readonly uncached?: { readonly dollarsWithout: number; readonly dollarsWith: number }
}

export const REQUESTS = 20
export const CONVERSATION_TOKENS = 10_000

export type ProjectionOptions = {
  /** Tokens of all definitions. */
  readonly definitions: number
  /** Tokens of what a request carries in their place. */
  readonly withDeferral: number
  /** Tokens of a search with its answer and the definitions that it loads. */
  readonly search: number
  readonly model: string | undefined
  readonly prices: PriceTable | undefined
}

export function project(options: ProjectionOptions): Projection {
  const { model, prices = shippedPrices } = options
  const cached = total(options, true)
  const plain = total(options, false)
  const isPriced = model !== undefined && cached.dollarsWith !== undefined
  const { dollarsWithout, dollarsWith } = plain
  return {
    ...cached,
    searches: 1,
    conversationTokens: CONVERSATION_TOKENS,
    ...(isPriced ? { pricedAs: model, pricesOf: prices.date } : {}),
    ...(dollarsWithout !== undefined && dollarsWith !== undefined
      ? { uncached: { dollarsWithout, dollarsWith } }
      : {}),
  }
}

function total(options: ProjectionOptions, isCaching: boolean): Figures {
  const { definitions, withDeferral, search, model, prices = shippedPrices } = options
  const before = withDeferral + CONVERSATION_TOKENS
  const after = before + search
  const sampling = (tokens: number, known: number) => ({
    characters: tokens,
    billed: isCaching ? cachedTokens(tokens, known) : plainTokens(tokens),
  })
  const request = (samplings: ReturnType<typeof sampling>[], isContinued: boolean) =>
    figuresOf({
      charactersWithout: definitions + CONVERSATION_TOKENS,
      samplings,
      hasCacheMarks: isCaching,
      isContinued,
      price: model === undefined ? undefined : priceOf(model, prices),
    }) ?? noFigures
  const first = request([sampling(before, 0), sampling(after, before)], false)
  const later = request([sampling(after, after)], true)
  return Array.from({ length: REQUESTS - 1 }, () => later).reduce(addFigures, first)
}

/** A prompt of which so many tokens are in the cache already. */
function cachedTokens(tokens: number, known: number): BilledTokens {
  return { input: 0, cacheRead: known, cacheWrite: tokens - known, cacheWrite1h: 0, output: 0 }
}

function plainTokens(tokens: number): BilledTokens {
  return { input: tokens, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, output: 0 }
}

/** From how many tokens of definitions on the requests of a projection save any. */
export function breakEven({
  withDeferral,
  search,
}: Pick<ProjectionOptions, 'withDeferral' | 'search'>): number {
  return withDeferral + search + Math.ceil((withDeferral + CONVERSATION_TOKENS) / REQUESTS)
}
