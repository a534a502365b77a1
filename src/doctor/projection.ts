// Projects what twenty requests would cost with these tools, with and without Toolshelf, using the figures of
// docs/figures.md.
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

/** Figures of a hypothetical conversation: `REQUESTS` requests, with a search in the first one. */
export type Projection = Figures & {
  readonly searches: number
  /** Tokens of the system prompt and the messages, assumed to be the same in each request. */
  readonly conversationTokens: number
  /** The model whose prices are used, and the date of the price table. Missing if the model has no price. */
  readonly pricedAs?: string
  readonly pricesOf?: string
  /** The same if the upstream does not cache prompts. */
  readonly uncached?: { readonly dollarsWithout: number; readonly dollarsWith: number }
}

/** Requests of the projected conversation. */
export const REQUESTS = 20
/** Tokens of conversation in each projected request. */
export const CONVERSATION_TOKENS = 10_000

/** Token counts that a projection starts from. */
export type ProjectionOptions = {
  /** Tokens of all definitions. */
  readonly definitions: number
  /** Tokens that a request sends instead. */
  readonly withDeferral: number
  /** Tokens of a search with its result and the definitions that it loads. */
  readonly search: number
  readonly model: string | undefined
  readonly prices: PriceTable | undefined
}

/** Estimates what `REQUESTS` requests cost with and without Toolshelf. */
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

/** The cost of a prompt with this many tokens already in the cache. */
function cachedTokens(tokens: number, known: number): BilledTokens {
  return { input: 0, cacheRead: known, cacheWrite: tokens - known, cacheWrite1h: 0, output: 0 }
}

function plainTokens(tokens: number): BilledTokens {
  return { input: tokens, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, output: 0 }
}

/** Returns the number of definition tokens from which on the projected requests save anything. */
export function breakEven({
  withDeferral,
  search,
}: Pick<ProjectionOptions, 'withDeferral' | 'search'>): number {
  return withDeferral + search + Math.ceil((withDeferral + CONVERSATION_TOKENS) / REQUESTS)
}
