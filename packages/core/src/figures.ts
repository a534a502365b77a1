// Computes what was saved: each figure's definition, prices as data, and the request without tool search.

import { type Fields, fieldsOf, isFields, listOf, textOf } from './lib/json.ts'
import { oncePerFrozen } from './lib/objects.ts'
import { quote } from './lib/text.ts'
import { isDeferralNote } from './notes.ts'
import { blocksOf, isChange, mayChangeView, referencesIn } from './reading.ts'
import { CHARACTERS_PER_TOKEN } from './tokens.ts'
import { ShelfError } from './types.ts'

/** Dollars per million tokens, by kind. */
type Rates = BilledTokens

/** What a model costs, in dollars per million tokens. */
export type Price = Rates & {
  /** A case-insensitive regular expression for the whole model id; the first matching row counts. */
  readonly match: string
  /** Rates of requests whose prompt has more than `promptTokens` tokens. */
  readonly above?: Rates & { readonly promptTokens: number }
}

/** Prices by model, and their date. */
export type PriceTable = {
  /** The day on which the prices were looked up. */
  readonly date: string
  /** Where they were looked up. */
  readonly source: string
  /** One row per model; the first one that matches applies. */
  readonly models: readonly Price[]
}

/** Builds a row for a model of Anthropic, whose cache writes cost 1.25 and 2 times the input. */
function anthropic(match: string, input: number, output: number, cacheRead: number): Price {
  return { match, ...rates(input, output, cacheRead) }
}

function rates(input: number, output: number, cacheRead: number): Rates {
  return { input, output, cacheRead, cacheWrite: 1.25 * input, cacheWrite1h: 2 * input }
}

const DATED = '(-latest|[-@]\\d{8})?(\\[1m\\])?'

/**
 * Standard list prices of the Claude API: no batch discount, no fast mode, no regional surcharge. Models of others are
 * not included: OpenAI bills cache writes, which its usage does not report, so a price would be a guess.
 */
export const prices: PriceTable = {
  date: '2026-11-06',
  source: 'https://platform.claude.com/docs/en/about-claude/pricing',
  models: [
    anthropic(`claude-(fable|mythos)-5-1${DATED}`, 10, 50, 0.25),
    anthropic(`claude-(fable|mythos)-5${DATED}`, 10, 50, 1),
    anthropic(`claude-opus-5-5${DATED}`, 4, 20, 0.2),
    anthropic(`claude-opus-(5|4-[5-8])${DATED}`, 5, 25, 0.5),
    anthropic(`claude-opus-4(-[01])?${DATED}`, 15, 75, 1.5),
    anthropic(`claude-sonnet-5-5${DATED}`, 2, 10, 0.1),
    anthropic(`claude-sonnet-5${DATED}`, 2, 10, 0.2),
    anthropic(`claude-sonnet-4-6${DATED}`, 3, 15, 0.3),
    {
      ...anthropic(`claude-sonnet-4(-[05])?${DATED}`, 3, 15, 0.3),
      above: { promptTokens: 200_000, ...rates(6, 22.5, 0.6) },
    },
    {
      ...anthropic(`claude-haiku-5-5${DATED}`, 0.1, 0.5, 0.01),
      above: { promptTokens: 100_000, ...rates(0.5, 2.5, 0.05) },
    },
    anthropic(`claude-haiku-4-5${DATED}`, 1, 5, 0.1),
  ],
}

/** Returns the price of a model; undefined if the table has none. */
export function priceOf(model: string, table: PriceTable = prices): Price | undefined {
  const id = model.slice(0, 200)
  return table.models.find(({ match }) => new RegExp(`^(?:${match})$`, 'i').test(id))
}

/** Returns the rates for a prompt of this many tokens. */
export function priceOfPrompt(price: Price, promptTokens: number): Rates {
  return price.above && promptTokens > price.above.promptTokens ? price.above : price
}

/**
 * Reads a price table from JSON: `{ "date", "source"?, "models": [{ "match", "input", "output", … }] }`, dollars per million
 * tokens. Missing cache prices default to the input price, as for an upstream without a cache.
 */
export function readPrices(value: unknown): PriceTable {
  const table = fieldsOf(value)
  const { date, source, models } = table
  if (!isFields(value) || !Array.isArray(models)) throw wrong('the price table has no list "models"', value)
  if (textOf(date) === '') throw wrong('the price table has no "date", the day of its prices', date)
  refuseUnknown(table, ['date', 'source', 'models'], 'the price table')
  return { date: textOf(date), source: textOf(source), models: listOf(models).map(readPrice) }
}

function readPrice(value: unknown): Price {
  const row = fieldsOf(value)
  const match = textOf(row.match)
  if (match === '') throw wrong('a row of the price table has no "match"', value)
  if (!isPattern(match)) throw wrong('"match" of the price table is not a regular expression', match)
  refuseUnknown(row, ['match', 'above', ...BILLED], quote(match))
  if (row.above === undefined) return { match, ...readRates(row, match) }
  const above = fieldsOf(row.above)
  const { promptTokens } = above
  if (!isAmount(promptTokens, Number.MAX_SAFE_INTEGER))
    throw wrong(`"above.promptTokens" of ${quote(match)} is not a number of tokens`, promptTokens)
  refuseUnknown(above, ['promptTokens', ...BILLED], quote(match))
  return { match, ...readRates(row, match), above: { promptTokens, ...readRates(above, match) } }
}

/** Refuses unknown keys: a misspelled price would count as missing, and the amounts would be wrong. */
function refuseUnknown(fields: Fields, known: readonly string[], owner: string): void {
  const unknown = Object.keys(fields).find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw wrong(`unknown key ${quote(unknown)} of ${owner}; use ${known.join(', ')}`, fields[unknown])
}

/** Maximum dollars per million tokens: above all real prices, and small enough for finite sums. */
const HIGHEST_RATE = 1_000_000

function readRates(row: Fields, match: string): Rates {
  const rate = (name: keyof Rates, otherwise?: number): number => {
    const rate = row[name] ?? otherwise
    if (!isAmount(rate, HIGHEST_RATE))
      throw wrong(`"${name}" of ${quote(match)} is not a price from 0 to ${HIGHEST_RATE}`, rate)
    return rate
  }
  const input = rate('input')
  const cacheWrite = rate('cacheWrite', input)
  return {
    input,
    output: rate('output'),
    cacheRead: rate('cacheRead', input),
    cacheWrite,
    cacheWrite1h: rate('cacheWrite1h', cacheWrite),
  }
}

function isAmount(value: unknown, max: number): value is number {
  return typeof value === 'number' && value >= 0 && value <= max
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, 'i') !== undefined
  } catch {
    return false
  }
}

function wrong(message: string, value: unknown): ShelfError {
  return new ShelfError(
    'BAD_OPTION',
    `${message}: ${quote(value)}. docs/figures.md shows a price table.`,
    value,
  )
}

/** Formats dollars with as many digits as small amounts need: `$12.30`, `$0.042`, `−$0.0007`. */
export function dollars(amount: number): string {
  const size = Math.abs(amount)
  const text = size.toFixed(size >= 1 ? 2 : size >= 0.01 ? 3 : 4)
  return `${amount < 0 && Number(text) !== 0 ? '−' : ''}$${text}`
}

type WithoutOptions = {
  /** All definitions, which replace the request's tools. */
  readonly definitions: readonly Fields[]
  /** The name of a shelf's search tool, whose notes are left out too; undefined for a client's own request. */
  readonly searchTool?: string
}

/** Returns the request with all definitions, and without searches, their results and notes about deferred tools. */
export function withoutToolSearch(request: object, { definitions, searchTool }: WithoutOptions): Fields {
  const messages = listOf(fieldsOf(request).messages).map(fieldsOf)
  if (searchTool === undefined && !messages.some(usesToolSearch)) return { ...request, tools: definitions }
  const searches = searchIds(messages, searchTool)
  const isKept = (block: Fields) =>
    !searches.has(block.id) &&
    !searches.has(block.tool_use_id) &&
    !isChange(block) &&
    !(searchTool !== undefined && block.type === 'text' && isDeferralNote(textOf(block.text)))
  const kept = (message: Fields): Fields => {
    if (typeof message.content === 'string' && searchTool === undefined) return message
    const blocks = blocksOf(message.content)
    return blocks.every(isKept) ? message : { ...message, content: blocks.filter(isKept) }
  }
  return { ...request, tools: definitions, messages: messages.map(kept) }
}

/** Whether a message contains a hosted search, a reference or a tool change. */
const usesToolSearch = oncePerFrozen(({ content }: Fields): boolean =>
  blocksOf(content).some((block) => isHostedSearch(block) || mayChangeView(block)),
)

function isHostedSearch({ type, name }: Fields): boolean {
  return type === 'server_tool_use' && textOf(name).startsWith('tool_search_tool_')
}

/** Returns the ids of calls of a search tool, recognised by its name or by references in the result. */
function searchIds(messages: readonly Fields[], searchTool: string | undefined): ReadonlySet<unknown> {
  const ids = new Set<unknown>()
  for (const { content } of messages)
    for (const block of blocksOf(content)) {
      const { type, id, name, tool_use_id: answered } = block
      if (type === 'tool_use' && searchTool !== undefined && name === searchTool) ids.add(id)
      if (isHostedSearch(block)) ids.add(id)
      if (type === 'tool_search_tool_result' || referencesIn(block).length > 0) ids.add(answered)
    }
  ids.delete(undefined)
  return ids
}

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
  const { isEstimated: isOneEstimated, ...first } = one
  const { isEstimated, ...second } = other
  return { ...addCounts(first, second), isEstimated: isOneEstimated || isEstimated }
}

/** Adds up two records of numbers; a number that one of them does not have is unknown in the sum. */
export function addCounts<Counts extends object>(one: Counts, other: Counts): Counts {
  const more = new Map<string, number>(Object.entries(other))
  const sums = Object.entries<number>(one as { [name: string]: number }).flatMap(([name, count]) => {
    const added = more.get(name)
    return added === undefined ? [] : [[name, count + added]]
  })
  return Object.fromEntries(sums)
}

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
  // Fewer tokens are subtracted from the start first, and from the rest if that is not enough.
  const offFront = first[front] + more
  if (offFront >= 0) return { ...first, [front]: offFront, output }
  const kept = tokensWithout / Math.max(1, promptTokens(first))
  const parts = BILLED.map((kind) => [kind, Math.round(first[kind] * kept)])
  return { ...Object.fromEntries(parts), output }
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

/** Returns the list price of billed tokens, in dollars. */
export function dollarsFor(tokens: BilledTokens, price: Price): number {
  const rates = priceOfPrompt(price, promptTokens(tokens))
  return sum(BILLED.map((kind) => tokens[kind] * rates[kind])) / 1_000_000
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
const BILLED = Object.keys(NOTHING) as (keyof BilledTokens)[]

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
