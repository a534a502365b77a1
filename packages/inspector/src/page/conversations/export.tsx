// Exports conversations as a file that this page opens again; what was replaced is shown before it is saved.
import { useState } from 'preact/hooks'
import { type ExportInput, type ExportView, endpoints } from '../../api.ts'
import { messageOf, useApp, useAppHandle } from '../app/state.ts'
import { Dialog } from '../ui/dialog.tsx'
import { plural } from '../ui/format.ts'
import { ErrorNote } from '../ui/parts.tsx'
import { Foreign, JsonBlock } from '../ui/text.tsx'

/** Events shown before the file is saved. */
const SAMPLE = 50

export function ExportButton({ ids }: { readonly ids: readonly string[] }) {
  const { client } = useAppHandle()
  const { opened } = useApp()
  const [view, setView] = useState<ExportView | undefined>()
  const [error, setError] = useState('')
  // The content of a file needs no export.
  if (opened) return null
  const ask = async () => {
    setError('')
    try {
      setView(await client.post<ExportView>(endpoints.export, { conversations: ids } satisfies ExportInput))
    } catch (reason) {
      setError(messageOf(reason))
    }
  }
  return (
    <>
      <button type="button" class="quiet" onClick={() => void ask()}>
        Export…
      </button>
      <ErrorNote text={error} />
      {view && <ExportDialog view={view} onClose={() => setView(undefined)} />}
    </>
  )
}

function ExportDialog({ view, onClose }: { readonly view: ExportView; readonly onClose: () => void }) {
  const { events, redactions } = view
  const replaced = redactions.filter(({ count }) => count > 0)
  return (
    <Dialog
      title="Export this conversation"
      onClose={onClose}
      actions={
        <button type="button" class="primary" onClick={() => save(view)}>
          Save the file
        </button>
      }
    >
      <p>
        {plural(events.length, 'event')}. The file can be attached to a bug report; whoever has it opens it in
        this page.
      </p>
      {replaced.length === 0 ? (
        <p>Nothing had to be replaced. Look at what it holds before you share it.</p>
      ) : (
        <>
          <p>Replaced, and not in the file:</p>
          <ul>
            {replaced.map(({ what, count }) => (
              <li key={what}>
                <Foreign text={what} /> <span class="amount">{count}×</span>
              </li>
            ))}
          </ul>
        </>
      )}
      <details>
        <summary>What the file holds</summary>
        <JsonBlock label="Events of the file" value={events.slice(0, SAMPLE)} />
        {events.length > SAMPLE && <p class="hint">The first {SAMPLE} events.</p>}
      </details>
    </Dialog>
  )
}

function save(view: ExportView): void {
  const url = URL.createObjectURL(new Blob([JSON.stringify(view)], { type: 'application/json' }))
  const link = document.createElement('a')
  link.href = url
  link.download = `toolshelf-${view.events[0]?.time.slice(0, 10) ?? 'events'}.json`
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
