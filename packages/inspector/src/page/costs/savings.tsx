// Savings by day: tokens and money with and without Toolshelf, extra round trips, and what the cache read and wrote.

import { prices } from '@toolshelf/core/internal'
import { useMemo } from 'preact/hooks'
import type { EventModel } from '../../model/event-model.ts'
import { spendingByDay, totalSpending } from '../../model/totals.ts'
import { useApp } from '../app/state.ts'
import { formatCount, formatDollars, plural } from '../ui/format.ts'
import { DataTable, Section } from '../ui/parts.tsx'

const MAX_DAYS = 60

export function Savings({ model }: { readonly model: EventModel }) {
  const { received } = useApp()
  const days = useMemo(() => spendingByDay(model), [model, model.version, received])
  const { turns, estimatedTurns, pricedTurns, tokensWithout } = totalSpending(model)
  if (tokensWithout === 0)
    return (
      <Section level={2} title="Savings by day">
        <p class="hint">
          {turns === 0
            ? 'Nothing is recorded yet. Savings appear here with the first recorded conversation.'
            : 'Unknown: an MCP client sends its requests to the model itself. Each conversation shows which definitions the model could see.'}
        </p>
      </Section>
    )
  return (
    <Section level={2} title="Savings by day">
      <DataTable
        label="Savings by day"
        head={[{ text: 'Day (UTC)' }, ...NUMBERS.map((text) => ({ text, isNumber: true }))]}
      >
        {days.slice(0, MAX_DAYS).map(([day, spending]) => (
          <tr key={day}>
            <th scope="row">{day}</th>
            <td class="number">{formatCount(spending.turns)}</td>
            <td class="number">{formatCount(spending.tokensWith)}</td>
            <td class="number">{formatCount(spending.tokensWithout)}</td>
            <td class="number">{spending.pricedTurns > 0 ? formatDollars(spending.dollarsWith) : '–'}</td>
            <td class="number">{spending.pricedTurns > 0 ? formatDollars(spending.dollarsWithout) : '–'}</td>
            <td class="number">{formatCount(spending.extraRoundTrips)}</td>
            <td class="number">{formatCount(spending.cacheRead)}</td>
            <td class="number">{formatCount(spending.cacheWrite)}</td>
          </tr>
        ))}
      </DataTable>
      <p class="hint">
        {estimatedTurns > 0 &&
          `${plural(estimatedTurns, 'turn')} of ${formatCount(turns)} ${estimatedTurns === 1 ? 'counts' : 'count'} tokens of definitions alone, by estimate. `}
        {pricedTurns > 0 &&
          `Money at list prices of ${prices.date}, for ${formatCount(pricedTurns)} of ${plural(turns, 'turn')}: cache reads and writes at their own prices, and definitions left out priced as the cache would have billed them.`}
      </p>
    </Section>
  )
}

const NUMBERS = [
  'Turns',
  'Tokens with',
  'Tokens without',
  'Cost with',
  'Cost without',
  'Extra round trips',
  'Read from cache',
  'Written to cache',
]
