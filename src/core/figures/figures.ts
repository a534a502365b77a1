// Computes every figure about savings. The log, the metrics, the headers, the demo, the chat and `run` print these.
import { type Fields, fieldsOf } from '../../lib/index.ts'
import { CHARACTERS_PER_TOKEN } from '../tokens.ts'
import { type Price, priceOfPrompt } from './prices.ts'

/**
 * What Toolshelf saved, for one request of a client or summed over many.
 *
 * Without Toolshelf, a request is one model call with every tool definition and no search. With it, a request is all
 * model calls that were made, including those that only searched. `tokensWith` is what the upstream reported for these.
 * `tokensWithout` is an estimate, because that request was never sent: its length, scaled by the tokens per character
 * that the upstream reported for the model calls of the same client request. The difference is negative if searches cost
 * more than the definitions that they save.
 */
export type Figures = {
  /** Requests of the client. */
  readonly requests: number
  /** Samplings of the upstream. */
  readonly rounds: number
  /** Samplings beyond one per request: round trips that searches added. */
  readonly extraRoundTrips: number
  /** Input tokens that the requests would have had without tool search, cached ones included. */
  readonly tokensWithout: number
  /** Input tokens of all samplings, cached ones included. */
  readonly tokensWith: number
  /** `tokensWithout` − `tokensWith`. */
  readonly tokensSaved: number
  /** Output tokens of all samplings but the last of each request. They are not part of `tokensSaved`. */
  readonly searchOutputTokens: number
  /** List price without tool search, prompt caching included. Missing unless every request has a price and usage. */
  readonly dollarsWithout?: number
  /** List price of what was sent. */
  readonly dollarsWith?: number
  /** `dollarsWithout` − `dollarsWith`. */
  readonly dollarsSaved?: number
  /** At least one sampling reported no usage, so its tokens are estimated from its length. */
  readonly isEstimated: boolean
}

/** The billed tokens of a sampling, by kind; each token counts once. */
export type BilledTokens = {
  /** Input tokens that no cache had. */
  readonly input: number
  /** Input tokens read from the cache. */
  readonly cacheRead: number
  /** Input tokens written to the cache for five minutes. */
  readonly cacheWrite: number
  /** Input tokens written to the cache for an hour. */
  readonly cacheWrite1h: number
  /** Output tokens. */
  readonly output: number
}

/** A sampling that the upstream accepted. */
export type Sampling = {
  /** Characters of the request as the model reads it. */
  readonly characters: number
  /** undefined if the upstream reported no usage. */
  readonly billed: BilledTokens | undefined
}

/** One request of a client, with everything that was sent for it. */
export type MeasuredRequest = {
  /** Characters of the request with every definition and without searches. */
  readonly charactersWithout: number
  readonly samplings: readonly Sampling[]
  /** The client asked for its prompt to be cached. */
  readonly hasCacheMarks: boolean
  /** The conversation already has a reply, so the start of the prompt was sent before. */
  readonly isContinued: boolean
  /** undefined if the model's price is unknown. */
  readonly price: Price | undefined
}

/** Figures of no request. */
export const noFigures: Figures = {
  requests: 0,
  rounds: 0,
  extraRoundTrips: 0,
  tokensWithout: 0,
  tokensWith: 0,
  tokensSaved: 0,
  searchOutputTokens: 0,
  dollarsWithout: 0,
  dollarsWith: 0,
  dollarsSaved: 0,
  isEstimated: false,
}

/** Returns the figures of one request; undefined if the upstream accepted no sampling of it. */
export function figuresOf(request: MeasuredRequest): Figures | undefined {
  const { samplings, charactersWithout } = request
  if (samplings.length === 0) return undefined
  const tokensPerCharacter = scaleOf(samplings)
  const sizes = samplings.map(({ billed, characters }) =>
    billed ? promptTokens(billed) : Math.round(characters * tokensPerCharacter),
  )
  const tokensWith = sum(sizes)
  const tokensWithout = Math.round(charactersWithout * tokensPerCharacter)
  return {
    requests: 1,
    rounds: samplings.length,
    extraRoundTrips: samplings.length - 1,
    tokensWithout,
    tokensWith,
    tokensSaved: tokensWithout - tokensWith,
    searchOutputTokens: sum(samplings.slice(0, -1).map(({ billed }) => billed?.output ?? 0)),
    ...dollarsOf(request, tokensWithout),
    isEstimated: samplings.some(({ billed }) => !billed),
  }
}

/** Adds up two figures. */
export function addFigures(one: Figures, other: Figures): Figures {
  const isPriced = one.dollarsWith !== undefined && other.dollarsWith !== undefined
  const added = (field: DollarField) => (one[field] ?? 0) + (other[field] ?? 0)
  return {
    requests: one.requests + other.requests,
    rounds: one.rounds + other.rounds,
    extraRoundTrips: one.extraRoundTrips + other.extraRoundTrips,
    tokensWithout: one.tokensWithout + other.tokensWithout,
    tokensWith: one.tokensWith + other.tokensWith,
    tokensSaved: one.tokensSaved + other.tokensSaved,
    searchOutputTokens: one.searchOutputTokens + other.searchOutputTokens,
    ...(isPriced
      ? {
          dollarsWithout: added('dollarsWithout'),
          dollarsWith: added('dollarsWith'),
          dollarsSaved: added('dollarsSaved'),
        }
      : {}),
    isEstimated: one.isEstimated || other.isEstimated,
  }
}

type DollarField = 'dollarsWithout' | 'dollarsWith' | 'dollarsSaved'

function scaleOf(samplings: readonly Sampling[]): number {
  const reported = samplings.filter(({ billed, characters }) => billed && characters > 0)
  if (reported.length === 0) return 1 / CHARACTERS_PER_TOKEN
  const tokens = sum(reported.map(({ billed }) => (billed ? promptTokens(billed) : 0)))
  return tokens / sum(reported.map(({ characters }) => characters))
}

function dollarsOf(request: MeasuredRequest, tokensWithout: number): Partial<Figures> {
  const { samplings, price } = request
  const billed = samplings.flatMap((sampling) => sampling.billed ?? [])
  if (!price || billed.length < samplings.length) return {}
  const dollarsWith = sum(billed.map((tokens) => dollarsFor(tokens, price)))
  const dollarsWithout = dollarsFor(billedWithout(request, billed, tokensWithout), price)
  return { dollarsWithout, dollarsWith, dollarsSaved: dollarsWithout - dollarsWith }
}

/**
 * Returns how the one sampling without Toolshelf would have been billed: like the first sampling, plus or minus the
 * difference in tokens. The difference is definitions, which are at the start of the prompt, so it is billed like the start.
 */
function billedWithout(
  request: MeasuredRequest,
  billed: readonly BilledTokens[],
  tokensWithout: number,
): BilledTokens {
  const [first = NOTHING] = billed
  const output = billed.at(-1)?.output ?? 0
  const more = tokensWithout - promptTokens(first)
  const front = frontOf(request, billed)
  if (more >= 0) return { ...first, [front]: first[front] + more, output }
  // Fewer tokens: subtracted from the start first, and from the rest if that is not enough.
  const kept = tokensWithout / Math.max(1, promptTokens(first))
  const offFront = first[front] + more
  if (offFront >= 0) return { ...first, [front]: offFront, output }
  const part = (tokens: number) => Math.round(tokens * kept)
  return {
    input: part(first.input),
    cacheRead: part(first.cacheRead),
    cacheWrite: part(first.cacheWrite),
    cacheWrite1h: part(first.cacheWrite1h),
    output,
  }
}

type PromptKind = Exclude<keyof BilledTokens, 'output'>

/** Returns how definitions at the start of the prompt are billed. */
function frontOf(request: MeasuredRequest, billed: readonly BilledTokens[]): PromptKind {
  const [first = NOTHING] = billed
  if (first.cacheRead > 0) return 'cacheRead'
  if (first.cacheWrite1h > 0) return 'cacheWrite1h'
  if (first.cacheWrite > 0) return 'cacheWrite'
  const isCaching = request.hasCacheMarks || billed.some((tokens) => promptTokens(tokens) > tokens.input)
  if (!isCaching) return 'input'
  // The prompt that was sent is too short for the cache; one with all definitions may be long enough.
  if (request.isContinued) return 'cacheRead'
  return billed.some(({ cacheWrite1h }) => cacheWrite1h > 0) ? 'cacheWrite1h' : 'cacheWrite'
}

function dollarsFor(tokens: BilledTokens, price: Price): number {
  const rates = priceOfPrompt(price, promptTokens(tokens))
  const millionths =
    tokens.input * rates.input +
    tokens.cacheRead * rates.cacheRead +
    tokens.cacheWrite * rates.cacheWrite +
    tokens.cacheWrite1h * rates.cacheWrite1h +
    tokens.output * rates.output
  return millionths / 1_000_000
}

/** Returns the input tokens of all kinds. */
export function promptTokens({ input, cacheRead, cacheWrite, cacheWrite1h }: BilledTokens): number {
  return input + cacheRead + cacheWrite + cacheWrite1h
}

/** Reads the usage of a Messages API reply; undefined if it has no input tokens or an invalid count. */
export function billedTokens(usage: Fields): BilledTokens | undefined {
  const tokens = countedTokens(usage)
  return tokens && promptTokens(tokens) > 0 ? tokens : undefined
}

/** Reads the counts of a usage, 0 for missing ones; undefined if one is invalid. */
export function countedTokens(usage: Fields): BilledTokens | undefined {
  const input = countOf(usage.input_tokens)
  const cacheRead = countOf(usage.cache_read_input_tokens)
  const written = countOf(usage.cache_creation_input_tokens)
  const cacheWrite1h = Math.min(written, countOf(fieldsOf(usage.cache_creation).ephemeral_1h_input_tokens))
  const output = countOf(usage.output_tokens)
  const tokens = { input, cacheRead, cacheWrite: written - cacheWrite1h, cacheWrite1h, output }
  return Object.values(tokens).some(Number.isNaN) ? undefined : tokens
}

const NOTHING: BilledTokens = { input: 0, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, output: 0 }

/** Far beyond every context window, and small enough for exact sums. */
const MAX_TOKENS = 1_000_000_000

/** Reads a token count: 0 if it is missing, NaN if it is invalid. */
function countOf(value: unknown): number {
  if (value === undefined || value === null) return 0
  const isCount = typeof value === 'number' && value >= 0 && value <= MAX_TOKENS
  return isCount ? Math.trunc(value) : Number.NaN
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
