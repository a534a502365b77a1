// Saves a hint into the configuration, after its difference was shown.
import { useState } from 'preact/hooks'
import { endpoints, type HintInput, type HintView } from '../../api.ts'
import { messageOf, useAppHandle } from '../app/state.ts'
import { Dialog } from '../ui/dialog.tsx'
import { MarkedDiff } from '../ui/diff.tsx'
import { ErrorNote } from '../ui/parts.tsx'

export function SaveHint({ tool, hint }: { readonly tool: string; readonly hint: string }) {
  const app = useAppHandle()
  const [view, setView] = useState<HintView | undefined>()
  const [error, setError] = useState('')
  const send = async (isConfirmed: boolean) => {
    setError('')
    try {
      const next = await app.client.post<HintView>(endpoints.hint, {
        tool,
        hint,
        isConfirmed,
      } satisfies HintInput)
      setView(next)
      if (next.isWritten) {
        app.announce(`Saved in ${next.file}`)
        void app.refresh('tools')
      }
    } catch (reason) {
      setError(messageOf(reason))
    }
  }
  return (
    <>
      <button type="button" class="primary" onClick={() => void send(false)}>
        Save this hint…
      </button>
      {!view && <ErrorNote text={error} />}
      {view && (
        <Dialog
          title={view.isWritten ? 'The hint is saved' : 'Save this hint'}
          onClose={() => setView(undefined)}
          actions={
            view.isWritten ? undefined : (
              <button type="button" class="primary" onClick={() => void send(true)}>
                Save
              </button>
            )
          }
        >
          <p>
            {view.isWritten ? 'Written to ' : 'This changes '}
            <code>{view.file}</code>:
          </p>
          <MarkedDiff label="The change of the file" text={view.diff} />
          <ErrorNote text={error} />
        </Dialog>
      )}
    </>
  )
}
