// Savings over time: tokens and money with and without Toolshelf, extra round trips, and what the cache read and wrote.
import { useMemo, useState } from 'preact/hooks'
import { prices } from '../../../core/figures/index.ts'
import {
  type EventModel,
  type InspectedSpending,
  type SpendingSpan,
  spendingOverTime,
} from '../../model/index.ts'
import { useApp } from '../app/index.ts'
import {
  DataTable,
  formatCount,
  formatDollars,
  formatMoment,
  plural,
  Section,
  Switch,
  shortCount,
} from '../ui/index.ts'

const HEIGHT = 120
const STEP = 12
/** Rows of the table; the newest. */
const MAX_ROWS = 60

type Unit = 'tokens' | 'money'

const UNITS = [
  { value: 'tokens', text: 'Tokens' },
  { value: 'money', text: 'Money' },
] as const

export function Savings({ model }: { readonly model: EventModel }) {
  const { received } = useApp()
  const [unit, setUnit] = useState<Unit>('tokens')
  const spans = useMemo(() => spendingOverTime(model), [model, model.version, received])
  const turns = spans.reduce((sum, { spending }) => sum + spending.turns, 0)
  const estimated = spans.reduce((sum, { spending }) => sum + spending.estimatedTurns, 0)
  const priced = spans.reduce((sum, { spending }) => sum + spending.pricedTurns, 0)
  const isSeen = spans.some(({ spending }) => spending.tokensWithout > 0)
  if (!isSeen)
    return (
      <Section level={2} title="Savings over time">
        <p class="hint">
          {turns === 0
            ? 'Nothing is recorded yet. Savings appear here with the first recorded conversation.'
            : 'Unknown: an MCP client sends its requests to the model itself. Each conversation shows which definitions the model could see.'}
        </p>
      </Section>
    )
  return (
    <Section
      level={2}
      title="Savings over time"
      aside={<Switch label="Unit" value={unit} choices={UNITS} onChoose={setUnit} />}
    >
      {unit === 'money' && priced === 0 ? (
        <p class="hint">
          No recorded turn has both a model with a known price and the tokens that the API billed, so there is
          no amount.
        </p>
      ) : (
        <Chart spans={spans} unit={unit} />
      )}
      <p class="hint">
        {estimated > 0 &&
          `${plural(estimated, 'turn')} of ${formatCount(turns)} ${estimated === 1 ? 'counts' : 'count'} tokens of definitions alone, by estimate. `}
        {priced > 0 &&
          `Money at list prices of ${prices.date}, for ${formatCount(priced)} of ${plural(turns, 'turn')}: cache reads and writes at their own prices, and definitions left out priced as the cache would have billed them.`}
      </p>
      <SpendingTable spans={spans} />
    </Section>
  )
}

function amounts({ tokensWith, tokensWithout, dollarsWith, dollarsWithout }: InspectedSpending, unit: Unit) {
  return unit === 'tokens'
    ? { own: tokensWith, other: tokensWithout }
    : { own: dollarsWith, other: dollarsWithout }
}

function Chart({ spans, unit }: { readonly spans: readonly SpendingSpan[]; readonly unit: Unit }) {
  const max = Math.max(
    ...spans.flatMap(({ spending }) => Object.values(amounts(spending, unit))),
    Number.EPSILON,
  )
  const format = unit === 'tokens' ? shortCount : formatDollars
  const height = (value: number) => (HEIGHT * value) / max
  const first = spans[0]
  const last = spans.at(-1)
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${spans.length * STEP} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {spans.map(({ start, spending }, at) => {
          const { own, other } = amounts(spending, unit)
          return (
            <g key={start}>
              <title>{`${formatMoment(start)}: ${format(own)} with, ${format(other)} without`}</title>
              <rect
                class="without"
                x={at * STEP + 1}
                y={HEIGHT - height(other)}
                width={STEP - 2}
                height={height(other)}
              />
              <rect
                class="with"
                x={at * STEP + 1}
                y={HEIGHT - height(own)}
                width={STEP - 2}
                height={height(own)}
              />
            </g>
          )
        })}
      </svg>
      <figcaption>
        <span>{first && formatMoment(first.start)}</span>
        <span class="keys">
          <span class="key own" aria-hidden="true" /> with Toolshelf{' '}
          <span class="key other" aria-hidden="true" /> without; the tallest is {format(max)}
        </span>
        <span>{last && formatMoment(last.start + last.milliseconds)}</span>
      </figcaption>
    </figure>
  )
}

function SpendingTable({ spans }: { readonly spans: readonly SpendingSpan[] }) {
  const head = [
    { text: 'From' },
    { text: 'Turns', isNumber: true },
    { text: 'Tokens with', isNumber: true },
    { text: 'Tokens without', isNumber: true },
    { text: 'Extra round trips', isNumber: true },
    { text: 'Read from cache', isNumber: true },
    { text: 'Written to cache', isNumber: true },
    { text: 'Cost with', isNumber: true },
    { text: 'Cost without', isNumber: true },
  ]
  const shown = spans.filter(({ spending }) => spending.turns > 0).slice(-MAX_ROWS)
  const money = (spending: InspectedSpending, amount: number) =>
    spending.pricedTurns > 0 ? formatDollars(amount) : '–'
  return (
    <details>
      <summary>As a table</summary>
      <DataTable label="Savings over time" head={head}>
        {[...shown].reverse().map(({ start, spending }) => (
          <tr key={start}>
            <th scope="row">{formatMoment(start)}</th>
            <td class="number">{formatCount(spending.turns)}</td>
            <td class="number">{formatCount(spending.tokensWith)}</td>
            <td class="number">{formatCount(spending.tokensWithout)}</td>
            <td class="number">{formatCount(spending.extraRoundTrips)}</td>
            <td class="number">{formatCount(spending.cacheRead)}</td>
            <td class="number">{formatCount(spending.cacheWrite)}</td>
            <td class="number">{money(spending, spending.dollarsWith)}</td>
            <td class="number">{money(spending, spending.dollarsWithout)}</td>
          </tr>
        ))}
      </DataTable>
    </details>
  )
}
