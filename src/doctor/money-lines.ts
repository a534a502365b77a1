// Renders the projected cost in dollars as lines of text.
import { dollars } from '../core/figures/index.ts'
import type { Projection } from './projection.ts'

/** Renders the cost with prompt caching and without; empty if the model has no price. */
export function moneyLines(projection: Projection): string[] {
  const { dollarsWithout, dollarsWith, pricedAs, pricesOf, uncached } = projection
  if (dollarsWithout === undefined || dollarsWith === undefined || pricedAs === undefined) return []
  return [
    `${dollars(dollarsWithout)} without, ${dollars(dollarsWith)} with, at list prices of ${pricedAs} (${pricesOf}) and with prompt caching` +
      (uncached
        ? `; ${dollars(uncached.dollarsWithout)} and ${dollars(uncached.dollarsWith)} without a prompt cache.`
        : '.'),
  ]
}
