// One turn in full: what the model could see, what it searched for and called, what it cost, whether the cache held.
import type { EventModel } from '../../model/event-model.ts'
import type { InspectedSampling, InspectedTurn } from '../../model/turn-types.ts'
import { goTo, linkTo } from '../app/route.ts'
import { WithAndWithout } from '../ui/bars.tsx'
import { formatCount, formatMilliseconds, formatTime, plural, savedTokens } from '../ui/format.ts'
import { Badge, DataTable, Section } from '../ui/parts.tsx'
import { Foreign } from '../ui/text.tsx'
import { CallsSection } from './calls.tsx'
import { Comparison } from './compare.tsx'
import { PrefixSection } from './prefix.tsx'
import { SearchesSection } from './searches.tsx'
import { WorkingSetSection } from './working-set.tsx'

export function TurnDetail({
  id,
  turn,
  turns,
  model,
  compare,
}: {
  readonly id: string
  readonly turn: InspectedTurn
  readonly turns: readonly InspectedTurn[]
  readonly model: EventModel
  /** The number of the turn to compare with. */
  readonly compare: string | null
}) {
  const other = compare === null ? undefined : turns[Number(compare) - 1]
  return (
    <article class="turn" aria-label={`Turn ${turn.index + 1}`}>
      <TurnHead id={id} turn={turn} count={turns.length} compare={compare ?? ''} />
      {other && other !== turn && <Comparison before={other} after={turn} pools={model.pools()} />}
      <TokensSection turn={turn} />
      <PrefixSection prefix={turn.prefix} />
      <SearchesSection searches={turn.searches} />
      <CallsSection calls={turn.calls} />
      <WorkingSetSection set={model.pools().workingSet(turn)} turn={turn} />
      <SamplingsSection samplings={turn.samplings} />
      <NotesSection turn={turn} />
    </article>
  )
}

function TurnHead({
  id,
  turn,
  count,
  compare,
}: {
  id: string
  turn: InspectedTurn
  count: number
  compare: string
}) {
  const { index, time, model, decision, answer, messages } = turn
  const choose = (value: string) => goTo(linkTo('conversations', [id, index + 1], { compare: value }))
  return (
    <header class="turn-head">
      <a class="back" href={linkTo('conversations', [id])}>
        Turns
      </a>
      <h2>Turn {index + 1}</h2>
      <p class="facts">
        <time dateTime={time}>{formatTime(time)}</time>
        {model !== '' && <Foreign text={model} limit={80} />}
        {messages !== undefined && <span>{plural(messages, 'message')}</span>}
        {decision && (
          <Badge tone={decision.isOpen ? 'good' : 'plain'}>
            tool search {decision.isOpen ? 'on' : `off: ${reasonText(decision.reason)}`}
          </Badge>
        )}
        {answer && (
          <Badge tone={answer.status < 400 ? 'plain' : 'bad'}>
            {answer.status} in {formatMilliseconds(answer.milliseconds)}
          </Badge>
        )}
      </p>
      <nav class="steps" aria-label="Other turns">
        {index > 0 && <a href={linkTo('conversations', [id, index])}>Previous</a>}
        {index + 1 < count && <a href={linkTo('conversations', [id, index + 2])}>Next</a>}
        {count > 1 && (
          <label>
            Compare with turn{' '}
            <input
              type="number"
              min="1"
              max={count}
              value={compare}
              placeholder="–"
              onChange={(event) => choose(event.currentTarget.value)}
            />
          </label>
        )}
      </nav>
      {decision?.error && (
        <p class="error">
          <Foreign text={decision.error} />
        </p>
      )}
      {answer?.error && (
        <p class="error">
          <Foreign text={answer.error} />
        </p>
      )}
    </header>
  )
}

function reasonText(reason: string): string {
  return reason.replaceAll('-', ' ')
}

function TokensSection({ turn }: { turn: InspectedTurn }) {
  const { answer, share } = turn
  const whole = answer?.tokensWith !== undefined && answer.tokensWithout !== undefined
  if (!whole && !share) return null
  return (
    <Section title="Tokens">
      {whole && (
        <>
          <p class="lead">{savedTokens(answer.tokensWith ?? 0, answer.tokensWithout ?? 0)} in this request</p>
          <WithAndWithout tokensWith={answer.tokensWith ?? 0} tokensWithout={answer.tokensWithout ?? 0} />
          <p class="hint">
            Input tokens of {plural(answer.rounds, 'round trip')} to the model, as the API counted them;
            without Toolshelf by estimate. <Foreign text={answer.why} />
          </p>
        </>
      )}
      {share && !whole && (
        <>
          <p class="lead">{savedTokens(share.tokensWith, share.tokensWithout)} for definitions of tools</p>
          <WithAndWithout tokensWith={share.tokensWith} tokensWithout={share.tokensWithout} />
          <p class="hint">
            The model sees {formatCount(share.visible)} of {plural(share.total, 'definition')}. Tokens of
            definitions are estimates.
          </p>
        </>
      )}
    </Section>
  )
}

function SamplingsSection({ samplings }: { samplings: readonly InspectedSampling[] }) {
  if (samplings.length === 0) return null
  const head = [
    { text: 'Reply' },
    { text: 'Took', isNumber: true },
    { text: 'Input, not cached', isNumber: true },
    { text: 'Read from cache', isNumber: true },
    { text: 'Written to cache', isNumber: true },
    { text: 'Output', isNumber: true },
  ]
  return (
    <Section title="Replies of the model" aside={<span class="hint">tokens as billed</span>}>
      <DataTable label="Replies of the model" head={head}>
        {samplings.map(({ time, usage, stopReason, error, milliseconds }, at) => (
          <tr key={`${time}${at}`}>
            <td>
              {formatTime(time)}{' '}
              {error === '' ? <Foreign text={stopReason} limit={40} /> : <Foreign text={error} />}
            </td>
            <td class="number">{milliseconds === undefined ? '' : formatMilliseconds(milliseconds)}</td>
            <td class="number">{usage ? formatCount(usage.input) : '–'}</td>
            <td class="number">{usage ? formatCount(usage.cacheRead) : '–'}</td>
            <td class="number">{usage ? formatCount(usage.cacheWrite + usage.cacheWrite1h) : '–'}</td>
            <td class="number">{usage ? formatCount(usage.output) : '–'}</td>
          </tr>
        ))}
      </DataTable>
    </Section>
  )
}

function NotesSection({ turn }: { turn: InspectedTurn }) {
  if (turn.notes.length === 0) return null
  return (
    <Section title="Also in this turn">
      <ul class="notes">
        {turn.notes.map(({ time, text }, at) => (
          <li key={`${time}${at}`}>
            <time dateTime={time}>{formatTime(time)}</time> <Foreign text={text} limit={500} />
          </li>
        ))}
      </ul>
    </Section>
  )
}
