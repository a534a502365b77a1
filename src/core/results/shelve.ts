// Replaces a text that is too long for the context by a note with its handle, and a preview. A pure function: the same
// text always gets the same handle and preview.
import { cut, toJson } from '../../lib/index.ts'
import { handleOf } from './handle.ts'
import { previewOf } from './preview.ts'
import type { ResultKind, ShelvedResult } from './types.ts'

/** Longest result, in characters, that is sent whole by default: about 8,600 tokens of JSON. */
export const DEFAULT_BUDGET = 25_000
/** The name of the tool that reads stored results. */
export const READ_TOOL = 'ReadResult'

/** The share of the budget that the preview takes. */
const PREVIEW_SHARE = 0.2
const MIN_PREVIEW_LENGTH = 500

/** Characters reserved for the line above a page. */
const HEADING = 400

/**
 * Returns the page size for a budget. A page with its heading stays within the budget, so that another gateway with the
 * same budget passes it on.
 */
export function pageSizeFor(budget: number): number {
  return Math.max(MIN_PREVIEW_LENGTH, (budget > 0 ? budget : DEFAULT_BUDGET) - HEADING)
}

/** What replaces a text. */
export type Replacement = {
  /** Toolshelf's own text: the first block of the result, where no server can write. */
  readonly note: string
  readonly preview: string
  readonly handle: string
  readonly kind: ResultKind
}

/** Kinds that need an article. */
const NAMES: { readonly [kind in ResultKind]?: string } = {
  log: 'a log',
  text: 'a text',
  'Markdown table': 'a Markdown table',
}

/** Options of `replacementFor`. */
export type ReplacementOptions = {
  /** Longest result, in characters, that is sent whole. */
  readonly budget: number
  /** The page size of the reading tool, in characters. */
  readonly pageSize: number
  /** The tool through which the model calls the reading tool, if that is not on its list. */
  readonly caller?: string | undefined
}

/** Returns the replacement of a text. */
export function replacementFor(
  text: string,
  id: string,
  { budget, pageSize, caller }: ReplacementOptions,
): Replacement {
  const { kind, text: preview } = previewOf(
    text,
    Math.max(MIN_PREVIEW_LENGTH, Math.floor(budget * PREVIEW_SHARE)),
  )
  const handle = handleOf(id)
  const pages = Math.ceil(text.length / pageSize)
  const size = text.length.toLocaleString('en-US')
  const path = kind === 'JSON' || kind === 'JSON Lines' ? ', "path": "items[0].name"' : ''
  const input = `{"handle": "${handle}"}`
  const call = caller
    ? `${caller}: {"name": "${READ_TOOL}", "arguments": ${input}}`
    : `${READ_TOOL}: ${input}`
  const note = `<shelved-result handle="${handle}">
The result is ${NAMES[kind] ?? kind} of ${size} characters, too long to show here; all of it is kept. A preview follows. Read what you need with ${call} with one of "page": 1 (to ${pages}), "search": "text", "lines": "1-9"${path}. Do not call the tool again for it.
</shelved-result>`
  return { note, preview, handle, kind }
}

/** Returns the text for the model about an unknown handle: expired, dropped, or another conversation's. */
export function unknownHandle(handle: unknown): string {
  const name = typeof handle === 'string' ? toJson(cut(handle, 80)) : 'That'
  return `${name} is not on the shelf, or no longer. Call the tool that returned it again.`
}

const MAX_NAMED = 20

/** Lists the results that can still be read, for a summary that replaces their previews. */
export function aboutShelved(shelved: readonly ShelvedResult[]): string {
  if (shelved.length === 0) return ''
  const lines = shelved
    .slice(-MAX_NAMED)
    .map(
      ({ handle, tool, kind, size }) =>
        `- ${handle}: ${kind} of ${size.toLocaleString('en-US')} characters from ${tool}`,
    )
  return ['Results that are still on the shelf; read them with ReadResult:', ...lines].join('\n')
}
