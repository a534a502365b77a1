// The expected tool: where each ranker puts it, and what would lift it. Suggestions can be tried at once and saved as
// hints.
import { useEffect, useState } from 'preact/hooks'
import type { SearchView, Suggestion } from '../../api.ts'
import { useApp } from '../app/state.ts'
import { Badge, Section } from '../ui/parts.tsx'
import { Foreign } from '../ui/text.tsx'
import type { TriedTexts } from './page.tsx'
import { SaveHint } from './save-hint.tsx'

export function ExpectedTool({
  view,
  name,
  change,
  onChange,
}: {
  readonly view: SearchView
  readonly name: string
  readonly change: TriedTexts
  readonly onChange: (change: TriedTexts) => void
}) {
  const ranked = view.rankings.filter(({ error }) => error === null)
  const first = ranked[0]?.expected
  const isTried = Object.values(change).some((text) => text !== undefined && text !== '')
  return (
    <Section
      level={2}
      title="Expected tool"
      aside={isTried ? <Badge tone="warn">with a change, not saved</Badge> : undefined}
    >
      <p class="lead">
        <code>
          <Foreign text={name} limit={120} />
        </code>{' '}
        {first ? placeText(first.rank) : 'is not among the tools'}
      </p>
      <ul class="places">
        {ranked.map(({ ranker, expected }) => (
          <li key={ranker}>
            <span>{ranker}</span>
            <strong class={expected?.rank === 1 ? 'good' : undefined}>{expected?.rank ?? '–'}</strong>
          </li>
        ))}
      </ul>
      <Suggestions suggestions={view.suggestions} onTry={(one) => onChange({ [one.kind]: one.text })} />
      <OwnChange name={name} change={change} onChange={onChange} />
    </Section>
  )
}

function placeText(rank: number | null): string {
  if (rank === 1) return 'comes first.'
  return rank === null ? 'is not found.' : `is number ${rank}.`
}

function Suggestions({
  suggestions,
  onTry,
}: {
  readonly suggestions: readonly Suggestion[]
  readonly onTry: (suggestion: Suggestion) => void
}) {
  if (suggestions.length === 0) return null
  return (
    <>
      <h3>What would lift it</h3>
      <ul class="suggestions">
        {suggestions.map((one) => (
          <li key={`${one.kind}${one.text}`}>
            <Badge>{one.kind}</Badge>
            <span class="text">
              <Foreign text={one.text} limit={200} />
            </span>
            <span class="amount">
              {one.rankBefore ?? 'not found'} → <strong>{one.rankAfter ?? 'not found'}</strong>
            </span>
            <button type="button" class="quiet" onClick={() => onTry(one)}>
              Try
            </button>
          </li>
        ))}
      </ul>
    </>
  )
}

const KINDS = ['hint', 'description', 'alias'] as const
const LABELS = { hint: 'Hint', description: 'Description instead', alias: 'Name instead' } as const

/** The user's own texts, tried with the search; only a hint can be saved here. */
function OwnChange({
  name,
  change,
  onChange,
}: {
  readonly name: string
  readonly change: TriedTexts
  readonly onChange: (change: TriedTexts) => void
}) {
  const { about } = useApp()
  const [draft, setDraft] = useState<TriedTexts>(change)
  useEffect(() => setDraft(change), [change])
  const tryIt = (event: Event) => {
    event.preventDefault()
    onChange(Object.fromEntries(Object.entries(draft).filter(([, text]) => text !== '')))
  }
  const hint = change.hint ?? ''
  return (
    <form class="own-change" onSubmit={tryIt}>
      {KINDS.map((kind) => (
        <label key={kind}>
          <span>{LABELS[kind]}</span>
          <input
            type="text"
            value={draft[kind] ?? ''}
            onInput={(event) => setDraft({ ...draft, [kind]: event.currentTarget.value })}
          />
        </label>
      ))}
      <div class="buttons">
        <button type="submit">Try without saving</button>
        <button type="button" class="quiet" onClick={() => onChange({})}>
          Undo
        </button>
        {hint !== '' && about.value?.can.saveHints && <SaveHint tool={name} hint={hint} />}
      </div>
      {hint !== '' && about.value && !about.value.can.saveHints && (
        <p class="hint">Hints cannot be saved from here: no configuration of yours holds this server.</p>
      )}
    </form>
  )
}
