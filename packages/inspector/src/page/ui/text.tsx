// Shows untrusted text: never as markup, with invisible and control characters marked, and cut if it is long.
import { useState } from 'preact/hooks'
import { shownParts } from '../../model/shown-text.ts'
import { formatSize } from './format.ts'
import { ScrollRegion } from './scroll.tsx'

const CUT_AT = 1200
/** What "show more" adds each time. */
const MORE = 20_000

/** A short text of a server or a model, in a line. */
export function Foreign({ text, limit = 300 }: { readonly text: string; readonly limit?: number }) {
  const cut = text.length > limit ? `${text.slice(0, limit)}…` : text
  return (
    <bdi class="foreign" title={cut === text ? undefined : `${formatSize(text.length)}, cut`}>
      <Parts text={cut} />
    </bdi>
  )
}

/** A long text of a server or a model, with its line breaks, cut until more is wanted. */
export function ForeignBlock({ text, label }: { readonly text: string; readonly label: string }) {
  const [shown, setShown] = useState(CUT_AT)
  const isCut = text.length > shown
  return (
    <div class="foreign-block">
      <ScrollRegion class="block" label={label}>
        <pre dir="auto">
          <Parts text={isCut ? text.slice(0, shown) : text} />
        </pre>
      </ScrollRegion>
      {isCut && (
        <button type="button" class="quiet" onClick={() => setShown(shown + MORE)}>
          Show more of {formatSize(text.length)}
        </button>
      )}
    </div>
  )
}

function Parts({ text }: { readonly text: string }) {
  return (
    <>
      {shownParts(text).map(({ text: part, mark }, at) =>
        mark === undefined ? (
          part
        ) : (
          <span key={at} class="mark" title="A character that does not show">
            {mark}
          </span>
        ),
      )}
    </>
  )
}

/** Any value, as JSON. */
export function JsonBlock({ value, label }: { readonly value: unknown; readonly label: string }) {
  return (
    <ForeignBlock
      label={label}
      text={typeof value === 'string' ? value : (JSON.stringify(value, undefined, 2) ?? '')}
    />
  )
}
