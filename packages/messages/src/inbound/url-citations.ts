// Converts the citations of a text to the URL citations of OpenAI's APIs. Citations of documents have no counterpart there: those
// refer to uploaded files.
import { type Fields, fieldsOf, listOf, textOf } from '@toolshelf/core/internal'
import { citedRange } from '../upstream/citations.ts'

/** A source and the range of characters that it supports; the Messages API cites for a whole block instead. */
type UrlCitation = {
  readonly url: string
  readonly title: string
  readonly start_index: number
  readonly end_index: number
}

/** Returns the citations with an address, of a block that takes up this range. */
export function urlCitationsOf(citations: unknown, start: number, end: number): UrlCitation[] {
  return listOf(citations)
    .map(fieldsOf)
    .flatMap((citation) => {
      const url = addressOf(citation)
      const [from, to] = citedRange(citation) ?? [0, end - start]
      const range = { start_index: Math.min(end, start + from), end_index: Math.min(end, start + to) }
      return url === '' ? [] : [{ url, title: textOf(citation.title) || url, ...range }]
    })
}

/** Results of a client's own search name any source; only addresses count. */
function addressOf({ url, source }: Fields): string {
  return textOf(url) || (/^https?:\/\//.test(textOf(source)) ? textOf(source) : '')
}
