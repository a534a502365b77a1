// The calls of a turn.
import type { InspectedCall } from '../../model/turn-types.ts'
import { formatMilliseconds, formatSize, formatTime } from '../ui/format.ts'
import { Badge, Section, type Tone } from '../ui/parts.tsx'
import { Foreign, JsonBlock } from '../ui/text.tsx'

const TONES: { readonly [outcome: string]: Tone } = {
  done: 'good',
  failed: 'bad',
  refused: 'warn',
  stopped: 'warn',
}

const REASONS: { readonly [reason: string]: string } = {
  rights: 'refused: hidden from this user',
  limit: 'refused: above a limit',
}

export function CallsSection({ calls }: { readonly calls: readonly InspectedCall[] }) {
  if (calls.length === 0) return null
  return (
    <Section title={calls.length === 1 ? 'Call' : 'Calls'}>
      <ul class="calls">
        {calls.map((call, at) => (
          <li key={`${call.id}${at}`}>
            <CallEntry call={call} />
          </li>
        ))}
      </ul>
    </Section>
  )
}

function CallEntry({ call }: { readonly call: InspectedCall }) {
  const { name, server, outcome, reason, milliseconds, size, time, input, result } = call
  const hasContent = input !== undefined || result !== undefined
  const line = (
    <>
      <code>
        <Foreign text={name} limit={120} />
      </code>
      {server !== '' && (
        <span class="hint">
          of <Foreign text={server} limit={60} />
        </span>
      )}
      <Badge tone={TONES[outcome] ?? 'plain'}>{REASONS[reason] ?? outcome}</Badge>
      <span class="facts">
        {milliseconds !== undefined && <span>{formatMilliseconds(milliseconds)}</span>}
        {size !== undefined && <span>{formatSize(size)}</span>}
        <time dateTime={time}>{formatTime(time)}</time>
      </span>
    </>
  )
  if (!hasContent) return <div class="call">{line}</div>
  return (
    <details class="call">
      <summary>{line}</summary>
      {input !== undefined && <JsonBlock label={`Input of ${name}`} value={input} />}
      {result !== undefined && <JsonBlock label={`Result of ${name}`} value={result} />}
    </details>
  )
}
