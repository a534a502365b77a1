// A part of the page that scrolls by itself: it can be reached and scrolled with the keyboard.
import type { ComponentChildren, Ref } from 'preact'

export function ScrollRegion({
  label,
  children,
  class: name,
  box,
  onScroll,
  onKeyDown,
}: {
  readonly label: string
  readonly children: ComponentChildren
  readonly class: string
  readonly box?: Ref<HTMLDivElement>
  readonly onScroll?: () => void
  readonly onKeyDown?: (event: KeyboardEvent) => void
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
      onScroll={onScroll}
      onKeyDown={onKeyDown}
    >
      {children}
    </div>
  )
}
