// Bars: tokens with and without tool search, and the parts of a sum.
import { formatCount } from './format.ts'

/** Two amounts on one scale. */
export function WithAndWithout({
  tokensWith,
  tokensWithout,
  unit = 'tokens',
}: {
  readonly tokensWith: number
  readonly tokensWithout: number
  readonly unit?: string
}) {
  const max = Math.max(tokensWith, tokensWithout, 1)
  return (
    <dl class="pair">
      <dt>With Toolshelf</dt>
      <dd>
        <span class="bar">
          <span class="own" style={{ width: `${(100 * tokensWith) / max}%` }} />
        </span>
        <span class="amount">
          {formatCount(tokensWith)} {unit}
        </span>
      </dd>
      <dt>Without</dt>
      <dd>
        <span class="bar">
          <span class="other" style={{ width: `${(100 * tokensWithout) / max}%` }} />
        </span>
        <span class="amount">
          {formatCount(tokensWithout)} {unit}
        </span>
      </dd>
    </dl>
  )
}

/** Shades for the parts of a sum: the same label has the same shade everywhere on a page. */
export const SHADES = 10

/** Parts of a sum, one after the other; negative ones are left out of the drawing. */
export function StackedBar({
  parts,
  scale,
  shadeOf,
}: {
  readonly parts: readonly { readonly label: string; readonly amount: number }[]
  /** The amount that fills the bar. */
  readonly scale: number
  readonly shadeOf: (label: string) => number
}) {
  return (
    <span class="stack" aria-hidden="true">
      {parts
        .filter(({ amount }) => amount > 0)
        .map(({ label, amount }) => (
          <span
            key={label}
            class={`shade-${shadeOf(label) % SHADES}`}
            title={`${label}: ${amount.toFixed(3)}`}
            style={{ width: `${Math.min(100, (100 * amount) / (scale || 1))}%` }}
          />
        ))}
    </span>
  )
}
