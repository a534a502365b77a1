// The hits of one ranker.
import type { RankedHit, RankingView } from '../../api.ts'
import { StackedBar } from '../ui/bars.tsx'
import { formatMilliseconds, plural } from '../ui/format.ts'
import { Foreign } from '../ui/text.tsx'
import { scoreParts, shadeOfLabel } from './score-parts.ts'

type ColumnProps = {
  readonly expected: string
  readonly picked: { readonly ranker: string; readonly name: string } | undefined
  readonly onPick: (name: string) => void
  readonly onExpect: (name: string) => void
}

/** `ranking` is undefined until the ranker has answered. */
export function RankingColumn({
  ranker,
  ranking,
  ...props
}: ColumnProps & { readonly ranker: string; readonly ranking: RankingView | undefined }) {
  const isDone = ranking?.error === null
  return (
    <section class="ranking" aria-label={`Ranked by ${ranker}`}>
      <header>
        <h2>{ranker}</h2>
        <span class="hint">
          {isDone &&
            `${plural(ranking.matched, 'match', 'matches')}, ${formatMilliseconds(ranking.milliseconds)}`}
        </span>
      </header>
      {!ranking && <p class="hint">Searching…</p>}
      {ranking && !isDone && <p class="hint">{ranking.error}</p>}
      {isDone && ranking.hits.length === 0 && <p class="hint">Nothing matches.</p>}
      {isDone && <Hits ranking={ranking} {...props} />}
    </section>
  )
}

function Hits({
  ranking,
  expected,
  picked,
  onPick,
  onExpect,
}: ColumnProps & { readonly ranking: RankingView }) {
  const { ranker, hits } = ranking
  const scale = Math.max(...hits.map((hit) => sumOf(hit)), Number.EPSILON)
  const behind = ranking.expected
  const isListed = hits.some(({ name }) => name === expected)
  return (
    <>
      <ol>
        {hits.map((hit) => (
          <li key={hit.name} class={hit.name === expected ? 'expected' : undefined}>
            <HitRow
              hit={hit}
              scale={scale}
              isPicked={picked?.ranker === ranker && picked.name === hit.name}
              onPick={() => onPick(hit.name)}
              onExpect={() => onExpect(hit.name)}
            />
          </li>
        ))}
      </ol>
      {behind && !isListed && (
        <p class="expected behind">
          <button type="button" class="link" onClick={() => onPick(behind.name)}>
            <Foreign text={behind.name} limit={80} />
          </button>{' '}
          {behind.rank === null ? 'was not found' : `is number ${behind.rank}`}
        </p>
      )}
    </>
  )
}

function sumOf(hit: Pick<RankedHit, 'parts' | 'score'>): number {
  return scoreParts(hit).reduce((sum, { amount }) => sum + Math.max(0, amount), 0)
}

function HitRow({
  hit,
  scale,
  isPicked,
  onPick,
  onExpect,
}: {
  readonly hit: RankedHit
  readonly scale: number
  readonly isPicked: boolean
  readonly onPick: () => void
  readonly onExpect: () => void
}) {
  return (
    <div class="hit">
      <button type="button" class="link" aria-pressed={isPicked} onClick={onPick} onDblClick={onExpect}>
        <span class="rank">{hit.rank}</span>
        <span class="name">
          <Foreign text={hit.name} limit={90} />
        </span>
        <span class="amount">{hit.score.toFixed(2)}</span>
      </button>
      <StackedBar parts={scoreParts(hit)} scale={scale} shadeOf={shadeOfLabel} />
    </div>
  )
}
