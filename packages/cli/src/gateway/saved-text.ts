// Says what requests saved or cost more, for the log of `serve` and its last words after an agent.
import { STATUS_CODES } from 'node:http'
import { addFigures, dollars, type Figures } from '@toolshelf/core/internal'
import type { RequestRecord } from '../http/messages/server.ts'
import { count, counted, percent, printableLine } from '../terminal/pen.ts'

export function savedInLog(figures: Figures): string {
  const { tokensSaved, extraRoundTrips } = figures
  const tokens = tokensSaved < 0 ? `cost ~${-tokensSaved} tokens more` : `saved ~${tokensSaved} tokens`
  const money = moneyOf(figures)
  const trips = extraRoundTrips > 0 ? ` extra round trips ${extraRoundTrips}` : ''
  return `${tokens}${money === undefined ? '' : ` (${money})`}${trips}`
}

/** Describes what the gateway did while the agent ran. */
export function savedInAll(finished: readonly RequestRecord[], url: string): string[] {
  const samplings = finished.filter(({ outcome, path }) => outcome && !path.endsWith('count_tokens'))
  const failed = finished.filter(isFailed)
  const failures = failed.slice(-1).map(({ error, status }) => {
    const reason =
      error === undefined ? `${status} ${STATUS_CODES[status] ?? ''}`.trim() : printableLine(error)
    return `${counted(failed.length, 'request')} failed, the last one: ${reason}`
  })
  const figures = samplings.flatMap(({ outcome }) => outcome?.figures() ?? [])
  if (figures.length > 0) return [inTotal(figures.reduce(addFigures), samplings.length), ...failures]
  const why = samplings.findLast((one) => !isFailed(one))?.outcome?.why
  if (why !== undefined)
    return [`${counted(samplings.length, 'request')}, nothing was put on the shelf (${why})`, ...failures]
  if (samplings.length > 0) return failures
  // A failed request shows that the agent did reach the gateway.
  const hint = failed.length > 0 ? '' : ' Does the agent read ANTHROPIC_BASE_URL or OPENAI_BASE_URL?'
  return [`no request for the model came to ${url}.${hint}`, ...failures]
}

/** An upstream's refusal that was passed on unchanged has a status, but no error of ours. */
function isFailed({ error, status }: RequestRecord): boolean {
  return error !== undefined || status >= 400
}

/** `all` counts requests without deferred tools too. */
function inTotal(figures: Figures, all: number): string {
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
