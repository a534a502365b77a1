// A dialog of the browser: it keeps the focus inside, closes with Escape and gives the focus back.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

export function Dialog({
  title,
  onClose,
  children,
  actions,
}: {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
  /** Buttons beside "Close". */
  readonly actions?: ComponentChildren
}) {
  const element = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null
    element.current?.showModal()
    return () => before?.focus()
  }, [])
  return (
    <dialog ref={element} onClose={onClose} aria-label={title}>
      <h2>{title}</h2>
      {children}
      <footer>
        <button type="button" onClick={() => element.current?.close()}>
          Close
        </button>
        {actions}
      </footer>
    </dialog>
  )
}
