// Keyboard shortcuts, and the list of them.
import { useEffect } from 'preact/hooks'
import { Dialog } from '../ui/dialog.tsx'
import { goTo, linkTo, PAGE_NAMES, parseRoute } from './route.ts'

const LIST: readonly (readonly [string, string])[] = [
  ['1 – 4', 'open a page'],
  ['/', 'go to the search or filter of the page'],
  ['↓ ↑', 'move within a list'],
  ['j k', 'next and previous turn'],
  ['Esc', 'leave a field or close a dialog'],
  ['?', 'show this list'],
]

/** A dialog with the list of shortcuts. */
export function Shortcuts({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl class="shortcuts">
        {LIST.map(([keys, about]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{about}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}

/** Handles the shortcuts while the component is shown. */
export function useShortcuts(showHelp: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return
      const field = event.target as HTMLElement
      if (field.closest('input, select')) {
        if (event.key === 'Escape') field.blur()
        return
      }
      if (document.querySelector('dialog[open]')) return
      if (run(event.key, showHelp)) event.preventDefault()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
}

function run(key: string, showHelp: () => void): boolean {
  const page = PAGE_NAMES[Number(key) - 1]
  if (page) goTo(linkTo(page))
  else if (key === '?') showHelp()
  else if (key === '/') document.querySelector<HTMLElement>('main input[type=search]')?.focus()
  else if (key === 'j' || key === 'k') return stepTurn(key === 'j' ? 1 : -1)
  else return false
  return true
}

function stepTurn(step: number): boolean {
  const { page, parts } = parseRoute(location.hash)
  const [id, turn = '0'] = parts
  const next = Number(turn) + step
  if (page !== 'conversations' || id === undefined || !(next >= 1)) return false
  goTo(linkTo('conversations', [id, next]))
  return true
}
