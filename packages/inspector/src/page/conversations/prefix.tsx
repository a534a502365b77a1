// Whether the prompt cache held, and if not, what exactly changed.
import type { InspectedCause, InspectedPrefix } from '../../model/turn-types.ts'
import { TextDiff } from '../ui/diff.tsx'
import { plural } from '../ui/format.ts'
import { Badge, Section } from '../ui/parts.tsx'
import { Foreign } from '../ui/text.tsx'

/** Causes shown at once. */
const MAX_SHOWN = 20

export function PrefixSection({ prefix }: { readonly prefix: InspectedPrefix | undefined }) {
  if (!prefix) return null
  if (prefix.isKept)
    return (
      <Section title="Prompt cache" aside={<Badge tone="good">kept</Badge>}>
        <p class="hint">
          This request continues the one before it: the API can read its start from the cache.
        </p>
      </Section>
    )
  const { causes } = prefix
  const left = prefix.left + Math.max(0, causes.length - MAX_SHOWN)
  return (
    <Section title="Prompt cache" aside={<Badge tone="warn">broken</Badge>}>
      <p class="lead">
        {causes[0] ? <CauseText cause={causes[0]} /> : 'The recording does not say why.'}
        {causes.length > 1 && `, and ${plural(causes.length - 1 + prefix.left, 'more cause')}`}
      </p>
      <p class="hint">Everything after the first change is processed again and rewritten to the cache.</p>
      <ul class="causes">
        {causes.slice(0, MAX_SHOWN).map((cause, at) => (
          <li key={at}>
            <CauseText cause={cause} />
            {cause.before === undefined && cause.after === undefined ? null : (
              <TextDiff label={`What changed: ${cause.kind}`} before={cause.before} after={cause.after} />
            )}
          </li>
        ))}
      </ul>
      {left > 0 && <p class="hint">{plural(left, 'more cause')} left out.</p>}
      {causes.every(({ before, after }) => before === undefined && after === undefined) && (
        <p class="hint">
          What it was before and after is not recorded. Record with <code>--audit-content</code> to see the
          difference here.
        </p>
      )}
    </Section>
  )
}

const TEXTS: { readonly [kind: string]: string } = {
  model: 'The model changed',
  system: 'The system prompt changed',
  header: 'The beta headers changed',
  'tools-reordered': 'The tools are in another order',
}

function CauseText({ cause }: { readonly cause: InspectedCause }) {
  const { kind, name, position } = cause
  const tool = (
    <code>
      <Foreign text={name} limit={120} />
    </code>
  )
  if (kind === 'tool-added') return <span>The definition of {tool} was added</span>
  if (kind === 'tool-removed') return <span>The definition of {tool} was removed</span>
  if (kind === 'tool-changed') return <span>The definition of {tool} changed</span>
  if (kind === 'message-edited') return <span>Message {(position ?? 0) + 1} was edited</span>
  return <span>{TEXTS[kind] ?? <Foreign text={`${kind} ${name}`} limit={120} />}</span>
}
