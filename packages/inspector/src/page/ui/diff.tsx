// The difference of two texts, line by line.
import { fileChange } from '@toolshelf/core/internal'
import { ScrollRegion } from './scroll.tsx'
import { Foreign } from './text.tsx'

const SIGNS = { same: ' ', added: '+', removed: '−', gap: '⋯' } as const
const SPOKEN = { same: '', added: 'added: ', removed: 'removed: ', gap: 'lines left out' } as const
const MAX_LENGTH = 200_000

export function TextDiff({
  before,
  after,
  label,
}: {
  readonly before: string | null | undefined
  readonly after: string | null | undefined
  readonly label: string
}) {
  const { lines, left } = fileChange(
    '',
    before?.slice(0, MAX_LENGTH) ?? undefined,
    after?.slice(0, MAX_LENGTH) ?? '',
  )
  return <DiffLines label={label} lines={lines.map(({ kind, text }) => ({ kind, text }))} left={left} />
}

/** A difference whose lines are marked; see `HintView`. */
export function MarkedDiff({ text, label }: { readonly text: string; readonly label: string }) {
  const lines = text.split('\n').map((line) => ({ kind: kindOf(line), text: line.replace(/^[-+ ]/, '') }))
  return <DiffLines label={label} lines={lines} left={0} />
}

function kindOf(line: string): keyof typeof SIGNS {
  if (line.startsWith('@@')) return 'gap'
  return line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'same'
}

function DiffLines({
  lines,
  left,
  label,
}: {
  readonly lines: readonly { readonly kind: keyof typeof SIGNS; readonly text: string }[]
  readonly left: number
  readonly label: string
}) {
  return (
    <ScrollRegion class="diff" label={label}>
      {lines.map(({ kind, text }, at) => (
        <div key={at} class={kind}>
          <span aria-hidden="true">{SIGNS[kind]}</span>
          <span class="unseen">{SPOKEN[kind]}</span>
          <code>
            <Foreign text={text} limit={2000} />
          </code>
        </div>
      ))}
      {left > 0 && <p>{left} more lines differ.</p>}
    </ScrollRegion>
  )
}
