// A part of the page with its own scroll bar, which can be focused and scrolled with the keyboard.
import type { ComponentChildren, Ref } from 'preact'

export function ScrollRegion({
  label,
  children,
  class: name,
  box,
  onScroll,
  onKeyDown,
  height,
}: {
  readonly label: string
  readonly children: ComponentChildren
  readonly class: string
  readonly box?: Ref<HTMLDivElement>
  readonly onScroll?: () => void
  readonly onKeyDown?: (event: KeyboardEvent) => void
  /** Pixels. */
  readonly height?: number
}) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields
    <div
      class={name}
      role="group"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      {...(box === undefined ? {} : { ref: box })}
      {...(height === undefined ? {} : { style: { height: `${height}px` } })}
      onScroll={onScroll}
      onKeyDown={onKeyDown}
    >
      {children}
    </div>
  )
}
