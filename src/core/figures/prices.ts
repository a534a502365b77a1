// Lists prices of models, as data. A host can replace the table; a model that is not in it has no price.

import { type Fields, fieldsOf, isFields, listOf, quote, textOf } from '../../lib/index.ts'
import { ShelfError } from '../errors.ts'

/** Dollars per million tokens. */
export type Rates = {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  /** Writes to the cache for five minutes. */
  readonly cacheWrite: number
  /** Writes to the cache for an hour. */
  readonly cacheWrite1h: number
}

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

const MAX_ID_LENGTH = 200

/** Returns the price of a model; undefined if the table has none. */
export function priceOf(model: string, table: PriceTable = prices): Price | undefined {
  const id = model.slice(0, MAX_ID_LENGTH)
  return table.models.find(({ match }) => expressionOf(match).test(id))
}

const expressions = new Map<string, RegExp>()

function expressionOf(match: string): RegExp {
  let expression = expressions.get(match)
  if (!expression) {
    expression = new RegExp(`^(?:${match})$`, 'i')
    expressions.set(match, expression)
  }
  return expression
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
  refuseUnknown(table, TABLE_FIELDS, 'the price table')
  return { date: textOf(date), source: textOf(source), models: listOf(models).map(readPrice) }
}

const TABLE_FIELDS = ['date', 'source', 'models']
const RATE_FIELDS = ['input', 'output', 'cacheRead', 'cacheWrite', 'cacheWrite1h']

function readPrice(value: unknown): Price {
  const row = fieldsOf(value)
  const match = textOf(row.match)
  if (match === '') throw wrong('a row of the price table has no "match"', value)
  if (!isPattern(match)) throw wrong('"match" of the price table is not a regular expression', match)
  refuseUnknown(row, ['match', 'above', ...RATE_FIELDS], quote(match))
  if (row.above === undefined) return { match, ...readRates(row, match) }
  const above = fieldsOf(row.above)
  const { promptTokens } = above
  if (!isAmount(promptTokens, Number.MAX_SAFE_INTEGER))
    throw wrong(`"above.promptTokens" of ${quote(match)} is not a number of tokens`, promptTokens)
  refuseUnknown(above, ['promptTokens', ...RATE_FIELDS], quote(match))
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
