// Opens a recorded or exported file, by a button or by dropping it anywhere on the page.
import { useEffect, useRef, useState } from 'preact/hooks'
import { addEventFile, createEventModel } from '../../model/event-model.ts'
import { goTo, linkTo } from '../app/route.ts'
import { type App, messageOf, useApp, useAppHandle } from '../app/state.ts'
import { plural } from '../ui/format.ts'
import { ErrorNote } from '../ui/parts.tsx'

/** Larger files are read from the end by the process: `toolshelf inspect <file>`. */
const MAX_FILE_BYTES = 300_000_000

async function openFile(file: File, app: App): Promise<void> {
  if (file.size > MAX_FILE_BYTES)
    throw new Error(`${file.name} is too large to open here; start toolshelf inspect with it.`)
  const model = createEventModel()
  const { events, broken } = addEventFile(await file.text(), model)
  if (events === 0)
    throw new Error(`${file.name} contains no events; open a file of --audit or an export of this page.`)
  const remark = broken > 0 ? `${plural(broken, 'line')} could not be read` : ''
  app.change({ opened: { name: file.name, model, remark }, announcement: `Opened ${file.name}` })
  goTo(linkTo('conversations'))
}

export function OpenFile() {
  const app = useAppHandle()
  const { opened } = useApp()
  const [error, setError] = useState('')
  const input = useRef<HTMLInputElement>(null)
  const open = (file: File | undefined) => {
    setError('')
    if (file) openFile(file, app).catch((reason: unknown) => setError(messageOf(reason)))
  }
  return (
    <div class="open-file">
      <input
        ref={input}
        type="file"
        accept=".jsonl,.json,.log,.ndjson"
        aria-label="A recorded or exported file"
        hidden
        onChange={(event) => open(event.currentTarget.files?.[0])}
      />
      <button type="button" class="quiet" onClick={() => input.current?.click()}>
        Open a file…
      </button>
      {opened && (
        <button type="button" class="quiet" onClick={() => app.change({ opened: undefined })}>
          Back to live events
        </button>
      )}
      <ErrorNote text={error} />
    </div>
  )
}

/** Takes files that are dropped on the page; the class on the body shows where. */
export function useDroppedFiles(app: App): void {
  useEffect(() => {
    const over = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes('Files')) return
      event.preventDefault()
      document.body.classList.add('dropping')
    }
    const leave = () => document.body.classList.remove('dropping')
    const drop = (event: DragEvent) => {
      leave()
      const file = event.dataTransfer?.files[0]
      if (!file) return
      event.preventDefault()
      openFile(file, app).catch((error: unknown) => app.announce(messageOf(error)))
    }
    addEventListener('dragover', over)
    addEventListener('dragleave', leave)
    addEventListener('drop', drop)
    return () => {
      removeEventListener('dragover', over)
      removeEventListener('dragleave', leave)
      removeEventListener('drop', drop)
    }
  }, [app])
}
