// Says what requests saved or cost more, for the log of `serve` and the last words of `wrap`.
import { dollars, type Figures } from '../../core/figures/index.ts'
import { count, counted, percent } from '../../terminal/index.ts'

/** For a line of the log. */
export function savedInLog(figures: Figures): string {
  const { tokensSaved, extraRoundTrips } = figures
  const tokens = tokensSaved < 0 ? `cost ~${-tokensSaved} tokens more` : `saved ~${tokensSaved} tokens`
  const money = moneyOf(figures)
  const trips = extraRoundTrips > 0 ? ` extra round trips ${extraRoundTrips}` : ''
  return `${tokens}${money === undefined ? '' : ` (${money})`}${trips}`
}

/** For the last words; `all` counts requests without deferred tools too. */
export function savedInAll(figures: Figures, all: number): string {
  const { requests, tokensWith, tokensWithout, tokensSaved, extraRoundTrips } = figures
  const share = tokensWithout > 0 ? ` (${percent(Math.abs(tokensSaved) / tokensWithout)})` : ''
  const what = tokensSaved < 0 ? 'more' : 'saved'
  const money = moneyOf(figures)
  const atPrices = money === undefined ? '' : `, ${money} at list prices`
  const trips = extraRoundTrips === 0 ? '' : `, ${counted(extraRoundTrips, 'extra round trip')}`
  const shelved =
    all > requests ? `; the ${requests === 1 ? 'one' : count(requests)} with tools on the shelf took` : ':'
  return `${counted(all, 'request')}${shelved} ${count(tokensWith)} input tokens instead of ${count(tokensWithout)}, ${count(Math.abs(tokensSaved))} ${what}${share}${atPrices}${trips}`
}

/** Names the direction unless both tokens and money were saved. */
function moneyOf({ tokensSaved, dollarsSaved }: Figures): string | undefined {
  if (dollarsSaved === undefined) return undefined
  const direction = dollarsSaved < 0 ? ' more' : tokensSaved < 0 ? ' saved' : ''
  return `${dollars(Math.abs(dollarsSaved))}${direction}`
}
