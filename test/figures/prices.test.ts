// The price table: which models have a price, and what a table from a file must look like.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Input } from '../../packages/cli/src/command.ts'
import { pricesIn } from '../../packages/cli/src/prices.ts'
import { dollars, priceOf, priceOfPrompt, prices, readPrices } from '../../packages/core/src/figures.ts'

describe('the price table', () => {
  it('has a date and a source', () => {
    expect(prices.date).toMatch(/^20\d\d-\d\d-\d\d$/)
    expect(new URL(prices.source).protocol).toBe('https:')
  })

  it.each([
    ['claude-sonnet-5-5', 2, 0.1],
    ['claude-sonnet-5', 2, 0.2],
    ['claude-opus-5-5', 4, 0.2],
    ['claude-opus-4-5-20251101', 5, 0.5],
    ['claude-opus-4-20250514', 15, 1.5],
    ['claude-haiku-4-5@20251001', 1, 0.1],
    ['claude-fable-5-1[1m]', 10, 0.25],
  ])('knows %s', (model, input, cacheRead) => {
    expect(priceOf(model)).toMatchObject({
      input,
      cacheRead,
      cacheWrite: 1.25 * input,
      cacheWrite1h: 2 * input,
    })
  })

  it.each([
    '',
    'toolshelf-script',
    'gpt-6.1-sol',
    'claude-sonnet-6',
    'my-claude-sonnet-5-5',
    'anthropic/claude-sonnet-5-5',
    'claude-sonnet-5-5-fast',
  ])('has no price for %j', (model) => expect(priceOf(model)).toBeUndefined())

  it('has other rates for long prompts, where the model has', () => {
    const haiku = priceOf('claude-haiku-5-5')!
    expect(priceOfPrompt(haiku, 100_000)).toMatchObject({ input: 0.1, output: 0.5 })
    expect(priceOfPrompt(haiku, 100_001)).toMatchObject({ input: 0.5, output: 2.5, cacheRead: 0.05 })
  })
})

const tableOf = (...models: unknown[]) => ({ date: '2026-11-06', models })

describe('a table from a file', () => {
  it('replaces the table; a price missing in a row is that of plain input', () => {
    const table = readPrices(tableOf({ match: 'local-.*', input: 3, output: 6 }))
    expect(priceOf('local-7b', table)).toEqual({
      match: 'local-.*',
      input: 3,
      output: 6,
      cacheRead: 3,
      cacheWrite: 3,
      cacheWrite1h: 3,
    })
    expect(priceOf('claude-sonnet-5-5', table)).toBeUndefined()
  })

  it('is the same when it is read again, and the shipped one is such a table', () => {
    expect(readPrices(prices)).toEqual(prices)
  })

  const row = { match: 'a', input: 1, output: 1 }
  it.each([
    [[], /no list "models"/],
    [{ models: [row] }, /no "date", the day of its prices/],
    [{ date: 5, models: [row] }, /no "date"/],
    [{ ...tableOf(row), currency: 'EUR' }, /unknown key "currency" of the price table; use date/],
    [tableOf(null), /no "match"/],
    [tableOf({ input: 1, output: 1 }), /no "match"/],
    [tableOf({ ...row, match: '(' }), /not a regular expression: "\("/],
    [tableOf({ ...row, input: '1' }), /"input" of "a" is not a price .*: "1"/],
    [tableOf({ ...row, output: -1 }), /"output" of "a" is not a price .*: -1/],
    [tableOf({ ...row, input: 1e308 }), /"input" of "a" is not a price .*: 1e\+308/],
    [tableOf({ ...row, cacheread: 0.1 }), /unknown key "cacheread" of "a"; use .*cacheRead/],
    [tableOf({ ...row, above: 5 }), /promptTokens/],
    [tableOf({ ...row, above: { input: 1, output: 1 } }), /promptTokens/],
    [
      tableOf({ ...row, above: { promptTokens: 9, input: 1, output: 1, match: 'b' } }),
      /unknown key "match" of "a"/,
    ],
  ])('that is wrong says where: %j', (value, message) => {
    expect(() => readPrices(value)).toThrow(message)
  })
})

describe('--prices', () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolshelf-prices-'))
  const pricesOf = (file: string) =>
    pricesIn({ words: [], text: () => file, texts: () => [], isSet: () => false } as Input)
  const given = (text: string) => {
    const file = join(folder, 'prices.json')
    writeFileSync(file, text)
    return pricesOf(file)
  }

  it('names a table', async () => {
    const table = await given(JSON.stringify(tableOf({ match: 'm', input: 1, output: 2 })))
    expect(priceOf('m', table)).toMatchObject({ input: 1, output: 2 })
  })

  it.each([
    ['nothing there', () => pricesOf('/no/such/file'), /--prices: no such file \/no/],
    ['a device', () => pricesOf('/dev/zero'), /--prices: \/dev\/zero: is not a regular file/],
    ['a folder', () => pricesOf(folder), /--prices: .*: is not a regular file/],
    ['too long', () => given(' '.repeat(1_000_001)), /has 1000001 bytes, more than 1000000/],
    ['no JSON', () => given('{'), /--prices: .*prices\.json: .*JSON/],
    ['no price', () => given(JSON.stringify(tableOf({ match: 'm' }))), /"input" of "m" is not a price/],
  ])('says what is wrong: %s', async (_, read, message) => {
    await expect(read()).rejects.toThrow(message)
  })
})

it.each([
  [12.345, '$12.35'],
  [0.0421, '$0.042'],
  [0.00071, '$0.0007'],
  [-0.00071, '−$0.0007'],
  [-0.000001, '$0.0000'],
  [0, '$0.0000'],
])('%d is written as %s', (amount, text) => expect(dollars(amount)).toBe(text))
