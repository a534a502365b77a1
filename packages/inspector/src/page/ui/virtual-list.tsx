// A list of rows of equal height, of which only those in sight are in the document: 10,000 rows cost as much as 20.
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { ScrollRegion } from './scroll.tsx'

/** Rows beyond both ends of the visible part. */
const SPARE = 6
/** Pixels of the lines above and below. */
const BORDER = 2

/** Draws the rows that are in sight. */
export function VirtualList<Item>({
  items,
  rowHeight,
  label,
  keyOf,
  children,
  current = -1,
  maxHeight,
}: {
  readonly items: readonly Item[]
  /** Pixels. */
  readonly rowHeight: number
  readonly label: string
  readonly keyOf: (item: Item, index: number) => string | number
  readonly children: (item: Item, index: number) => ComponentChildren
  /** The row that is kept in sight. */
  readonly current?: number
  /** Pixels up to which the list grows with its rows; without it, it fills its place. */
  readonly maxHeight?: number
}) {
  const box = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ top: 0, height: 600 })
  const measure = () => {
    const { scrollTop = 0, clientHeight = 0 } = box.current ?? {}
    setView((old) =>
      old.top === scrollTop && old.height === clientHeight ? old : { top: scrollTop, height: clientHeight },
    )
  }
  useLayoutEffect(() => {
    measure()
    const observer = new ResizeObserver(measure)
    if (box.current) observer.observe(box.current)
    return () => observer.disconnect()
  }, [])
  useLayoutEffect(() => scrollTo(box.current, current, rowHeight), [current])
  const first = Math.max(0, Math.floor(view.top / rowHeight) - SPARE)
  const last = Math.min(items.length, Math.ceil((view.top + view.height) / rowHeight) + SPARE)
  return (
    <ScrollRegion
      class="virtual"
      box={box}
      onScroll={measure}
      onKeyDown={moveFocus}
      label={label}
      {...(maxHeight === undefined ? {} : { height: Math.min(maxHeight, items.length * rowHeight + BORDER) })}
    >
      <ul style={{ height: `${items.length * rowHeight}px` }}>
        {items.slice(first, last).map((item, at) => (
          <li
            key={keyOf(item, first + at)}
            aria-setsize={items.length}
            aria-posinset={first + at + 1}
            style={{ top: `${(first + at) * rowHeight}px`, height: `${rowHeight}px` }}
          >
            {children(item, first + at)}
          </li>
        ))}
      </ul>
    </ScrollRegion>
  )
}

function scrollTo(box: HTMLElement | null, row: number, rowHeight: number): void {
  if (!box || row < 0) return
  const top = row * rowHeight
  if (top < box.scrollTop || top + rowHeight > box.scrollTop + box.clientHeight)
    box.scrollTop = Math.max(0, top - box.clientHeight / 3)
}

/** The arrow keys move between the links or buttons of rows. */
function moveFocus(event: KeyboardEvent): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
  const list = event.currentTarget as HTMLElement
  const rows = [...list.querySelectorAll<HTMLElement>('li > a, li > button')]
  if (step === 0 || rows.length === 0) return
  event.preventDefault()
  const at = rows.indexOf(document.activeElement as HTMLElement)
  const next = rows[at < 0 ? 0 : at + step]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
}
