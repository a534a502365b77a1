// The chat's own line about itself: the model, how full the window is, what was saved, as much as fits.
import { describe, expect, it } from 'vitest'
import { type Status, statusLine } from '../../packages/cli/src/chat/status.ts'
import { noFigures } from '../../packages/core/src/figures.ts'
import { served } from '../agent/support.ts'
import { newPlace, openHere } from './support.ts'

const figures = {
  ...noFigures,
  rounds: 12,
  requests: 9,
  extraRoundTrips: 3,
  tokensSaved: 123_456,
  dollarsSaved: 0.0421,
}
const status: Status = { model: 'claude-sonnet-5-5', usedTokens: 24_000, windowTokens: 200_000, figures }

describe('the status line', () => {
  it.each([
    [140, 'claude-sonnet-5-5 · context 12 % of 200k · saved 123,456 tokens ($0.042) · 3 extra round trips'],
    [80, 'claude-sonnet-5-5 · context 12 % of 200k · saved 123,456 tokens ($0.042)'],
    [60, 'claude-sonnet-5-5 · context 12 % · saved 123k'],
    [40, 'claude-sonnet-5-5 · 12 % · saved 123k'],
    [30, 'claude-sonnet-5-5 · 12 %'],
    [20, 'claude-sonnet-5-5'],
    [9, 'claude-s…'],
  ])('at %d columns is as much as fits', (columns, line) => {
    expect(statusLine(status, columns)).toBe(line)
  })

  it('says what searching cost where it saved nothing, and shows no money that is not known', () => {
    const { dollarsSaved: _, ...unpriced } = figures
    expect(statusLine({ ...status, figures: { ...unpriced, tokensSaved: -844 } }, 140)).toBe(
      'claude-sonnet-5-5 · context 12 % of 200k · cost 844 tokens more · 3 extra round trips',
    )
  })

  it('in few columns says what searching cost, too', () => {
    const spent = { ...status, figures: { ...figures, tokensSaved: -844 } }
    expect(statusLine(spent, 40)).toBe('claude-sonnet-5-5 · 12 % · cost 844')
    const much = { ...status, figures: { ...figures, tokensSaved: 1_234_567 } }
    expect(statusLine(much, 40)).toBe('claude-sonnet-5-5 · 12 % · saved 1.2M')
  })

  it('says where it is an estimate, because the API reported no usage', () => {
    const { dollarsSaved: _, ...unpriced } = { ...figures, isEstimated: true }
    expect(statusLine({ ...status, usedTokens: 0, figures: unpriced }, 140)).toBe(
      'claude-sonnet-5-5 · saved about 123,456 tokens · 3 extra round trips',
    )
  })

  it('before the first request is the model alone', () => {
    expect(statusLine({ ...status, usedTokens: 0, figures: noFigures }, 140)).toBe('claude-sonnet-5-5')
  })
})

describe('in a chat', () => {
  it('a turn and the status line show model, context and what was saved, in tokens and money', async () => {
    const { client } = await served({ rules: [{ do: [{ say: 'Good morning.' }] }] })
    const place = newPlace({ ANTHROPIC_API_KEY: 'x' })
    const words = [
      'chat',
      '--base-url',
      (client as unknown as { baseURL: string }).baseURL,
      '--model',
      'claude-sonnet-5-5',
    ]
    const screen = openHere(place, words, { columns: 140, rows: 30 })
    await screen.shows(/Servers +none/)
    await screen.enter('hello')
    const saved = String.raw`claude-sonnet-5-5 · context \d\.\d % of 200k · (saved|cost) [\d,]+ tokens( more)? \(−?\$\d\.\d+\)`
    const text = await screen.shows(new RegExp(String.raw`tokens in, \d+ out · ${saved}`))
    expect(text).toMatch(new RegExp(`commands\\n${saved}`))
  })
})
