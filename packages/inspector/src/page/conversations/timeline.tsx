// A conversation: its figures, a drawing of its turns, and the list of them.
import type { ConversationSummary } from '../../model/event-model.ts'
import { spendingOf } from '../../model/spending.ts'
import type { InspectedTurn } from '../../model/turn-types.ts'
import { linkTo } from '../app/route.ts'
import { formatDollars, formatTime, plural, savedTokens, shortCount } from '../ui/format.ts'
import { Figure } from '../ui/parts.tsx'
import { Foreign } from '../ui/text.tsx'
import { VirtualList } from '../ui/virtual-list.tsx'
import { ExportButton } from './export.tsx'

const ROW = 58
/** More turns than this share columns of the drawing. */
const MAX_COLUMNS = 120

export function Timeline({
  summary,
  turns,
  current,
}: {
  readonly summary: ConversationSummary
  readonly turns: readonly InspectedTurn[]
  readonly current: number
}) {
  const { id, client, user, kind, models } = summary
  return (
    <>
      <header class="pane-head">
        <a class="back" href={linkTo('conversations')}>
          Conversations
        </a>
        <h2>
          <Foreign text={client || kind || 'Conversation'} limit={60} />
        </h2>
        <ExportButton ids={[id]} />
      </header>
      <ConversationFigures summary={summary} last={turns.at(-1)} />
      {user !== '' && (
        <p class="hint">
          User <Foreign text={user} limit={120} />
        </p>
      )}
      {models.length > 0 && (
        <p class="hint">
          <Foreign text={models.join(', ')} limit={120} />
        </p>
      )}
      <TurnColumns turns={turns} current={current} />
      <VirtualList items={turns} rowHeight={ROW} label="Turns" keyOf={({ index }) => index} current={current}>
        {(turn) => <TurnRow id={id} turn={turn} isCurrent={turn.index === current} />}
      </VirtualList>
    </>
  )
}

function ConversationFigures({
  summary,
  last,
}: {
  summary: ConversationSummary
  last: InspectedTurn | undefined
}) {
  const { spending, breaks, calls } = summary
  const { tokensWith, tokensWithout, extraRoundTrips } = spending
  const saved = spending.dollarsWithout - spending.dollarsWith
  const money =
    saved < 0 ? `${formatDollars(-saved)} more at list price` : `${formatDollars(saved)} less at list price`
  return (
    <dl class="figures">
      {tokensWithout > 0 ? (
        <Figure
          label="Input tokens"
          value={shortCount(tokensWith)}
          detail={savedTokens(tokensWith, tokensWithout)}
        />
      ) : (
        last?.share && (
          <Figure
            label="Tokens of definitions in sight"
            value={shortCount(last.share.tokensWith)}
            detail={savedTokens(last.share.tokensWith, last.share.tokensWithout)}
          />
        )
      )}
      {tokensWithout > 0 ? (
        <Figure
          label="Extra round trips"
          value={extraRoundTrips}
          detail={spending.pricedTurns > 0 ? money : 'the price of the model is not known'}
        />
      ) : (
        <Figure label="Calls" value={calls} />
      )}
      {(tokensWithout > 0 || breaks > 0) && (
        <Figure label="Cache broken" value={`${breaks}×`} tone={breaks > 0 ? 'warn' : 'plain'} />
      )}
    </dl>
  )
}

function TurnRow({ id, turn, isCurrent }: { id: string; turn: InspectedTurn; isCurrent: boolean }) {
  const { index, time, searches, calls, prefix, share } = turn
  const failed = calls.filter(({ outcome }) => outcome === 'failed' || outcome === 'refused').length
  return (
    <a
      class="row"
      href={linkTo('conversations', [id, index + 1])}
      aria-current={isCurrent ? 'true' : undefined}
    >
      <span class="first">
        <strong>Turn {index + 1}</strong>
        <time dateTime={time}>{formatTime(time)}</time>
      </span>
      <span class="facts">
        {searches.length > 0 && <span>{plural(searches.length, 'search', 'searches')}</span>}
        {calls.length > 0 && <span>{plural(calls.length, 'call')}</span>}
        {share && (
          <span>
            {shortCount(share.visible)} of {shortCount(share.total)} tools
          </span>
        )}
        {turn.isSubAgent && <span>sub-agent</span>}
        {prefix?.isKept === false && <span class="warn">cache broken</span>}
        {failed > 0 && <span class="bad">{failed} failed</span>}
      </span>
    </a>
  )
}

type Column = { readonly first: number; tokensWith: number; tokensWithout: number; isBroken: boolean }

function columnsOf(turns: readonly InspectedTurn[]): readonly Column[] {
  const size = Math.max(1, Math.ceil(turns.length / MAX_COLUMNS))
  const columns: Column[] = []
  for (const turn of turns) {
    const { tokensWith, tokensWithout } = spendingOf(turn)
    if (turn.index % size === 0)
      columns.push({ first: turn.index, tokensWith: 0, tokensWithout: 0, isBroken: false })
    const column = columns.at(-1)
    if (!column) continue
    column.tokensWith += tokensWith
    column.tokensWithout += tokensWithout
    column.isBroken ||= turn.prefix?.isKept === false
  }
  return columns
}

const HEIGHT = 44

/** Tokens of each turn: filled with Toolshelf, outlined without; a line below marks a broken cache. */
function TurnColumns({ turns, current }: { turns: readonly InspectedTurn[]; current: number }) {
  const columns = columnsOf(turns)
  const most = columns.reduce(
    (max, { tokensWith, tokensWithout }) => Math.max(max, tokensWith, tokensWithout),
    0,
  )
  if (most === 0 || columns.length < 2) return null
  const size = Math.max(1, Math.ceil(turns.length / MAX_COLUMNS))
  const height = (tokens: number) => (HEIGHT * tokens) / most
  return (
    <svg
      class="columns"
      viewBox={`0 0 ${columns.length * 10} ${HEIGHT + 8}`}
      preserveAspectRatio="none"
      role="img"
      aria-label="Tokens of each turn, with and without Toolshelf"
    >
      {columns.map(({ first, tokensWith, tokensWithout, isBroken }, at) => (
        <g key={first}>
          <title>Turn {first + 1}</title>
          <rect
            class="without"
            x={at * 10 + 1}
            y={HEIGHT - height(tokensWithout)}
            width="8"
            height={height(tokensWithout)}
          />
          <rect
            class={current >= first && current < first + size ? 'with current' : 'with'}
            x={at * 10 + 1}
            y={HEIGHT - height(tokensWith)}
            width="8"
            height={height(tokensWith)}
          />
          {isBroken && <rect class="broken" x={at * 10 + 1} y={HEIGHT + 3} width="8" height="4" />}
        </g>
      ))}
    </svg>
  )
}
