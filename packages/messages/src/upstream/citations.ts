// Converts the URL citations of OpenAI's APIs to citations of a text block. Their index, which only Anthropic could read, says where
// in the text they apply, so that a client of OpenAI's APIs gets the same ranges.
import { type Fields, fieldsOf, listOf, textOf } from '@toolshelf/core/internal'

const CITED = 'toolshelf.cited.'

/** Converts the `annotations` of a text, in the shape of Responses or, with the fields one level deeper, of Chat Completions. */
export function citationsOf(annotations: unknown, text: string): Fields[] {
  return listOf(annotations)
    .map(fieldsOf)
    .filter(({ type }) => type === 'url_citation')
    .flatMap((annotation) => {
      const { url, title, start_index, end_index } = fieldsOf(annotation.url_citation ?? annotation)
      if (textOf(url) === '') return []
      const start = indexOf(start_index, 0, text)
      const end = Math.max(start, indexOf(end_index, text.length, text))
      return [
        {
          type: 'web_search_result_location',
          url,
          title: textOf(title) || null,
          cited_text: text.slice(start, end),
          encrypted_index: `${CITED}${start}-${end}`,
        },
      ]
    })
}

function indexOf(value: unknown, otherwise: number, { length }: string): number {
  return Number.isInteger(value) ? Math.min(length, Math.max(0, Number(value))) : otherwise
}

/** Returns the range of a citation that comes from OpenAI; undefined for Anthropic's own. */
export function citedRange({ encrypted_index: index }: Fields): readonly [number, number] | undefined {
  const found = /^toolshelf\.cited\.(\d{1,9})-(\d{1,9})$/.exec(textOf(index))
  return found ? [Number(found[1]), Number(found[2])] : undefined
}

/** Removes citations that come from OpenAI: Anthropic's API would refuse their index. */
export function withoutForeignCitations(block: Fields): Fields {
  const citations = listOf(block.citations)
  const own = citations.filter((one) => !textOf(fieldsOf(one).encrypted_index).startsWith(CITED))
  if (own.length === citations.length) return block
  const { citations: _, ...rest } = block
  return own.length === 0 ? rest : { ...rest, citations: own }
}
