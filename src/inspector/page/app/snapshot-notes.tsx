// Shows what the doctor found when a snapshot was taken.
import { useState } from 'preact/hooks'
import type { PageSnapshot } from '../../api.ts'
import { Badge, Dialog, Foreign, plural, type Tone } from '../ui/index.ts'

const TONES: { readonly [level: string]: Tone } = { error: 'bad', warning: 'warn', note: 'plain' }

export function SnapshotNotes({ snapshot }: { readonly snapshot: PageSnapshot }) {
  const [isShown, setShown] = useState(false)
  const { findings, notes } = snapshot
  if (findings.length === 0 && notes.length === 0) return null
  return (
    <>
      <button type="button" class="quiet" onClick={() => setShown(true)}>
        {findings.length > 0 ? plural(findings.length, 'finding') : 'How it was computed'}
      </button>
      {isShown && (
        <Dialog title="What the doctor found" onClose={() => setShown(false)}>
          <ul class="findings">
            {findings.map(({ level, server, title, details, remedy }, at) => (
              <li key={`${title}${at}`}>
                <Badge tone={TONES[level] ?? 'plain'}>{level}</Badge>
                <span>
                  {server !== null && (
                    <strong>
                      <Foreign text={server} limit={60} />{' '}
                    </strong>
                  )}
                  <Foreign text={title} limit={500} />
                  {details.map((detail) => (
                    <span key={detail} class="detail">
                      <Foreign text={detail} limit={500} />
                    </span>
                  ))}
                  {remedy !== null && (
                    <span class="hint detail">
                      <Foreign text={remedy} limit={500} />
                    </span>
                  )}
                </span>
              </li>
            ))}
          </ul>
          {notes.map((note) => (
            <p key={note} class="hint">
              <Foreign text={note} limit={1500} />
            </p>
          ))}
        </Dialog>
      )}
    </>
  )
}
