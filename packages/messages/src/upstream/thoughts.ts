// Stores the reasoning data of OpenAI-style models in Messages thinking blocks. The client sends them back, and only the
// upstream and model they came from receive the data again. The same for the citations of OpenAI's APIs: their index, which
// only Anthropic could read, says where in the text they apply, so that a client of OpenAI's APIs gets the same ranges.
import {
  type Fields,
  fieldsOf,
  hash,
  isFields,
  listOf,
  oncePerFrozen,
  textOf,
  toJson,
} from '@toolshelf/core/internal'
import type { MessagesRequest } from '../types.ts'
import { jsonOf } from './openai.ts'

/** Encodes and decodes reasoning data for one model of one upstream. */
export type Thoughts = ReturnType<typeof thoughtsOf>

const MARK = 'toolshelf'

export function thoughtsOf(upstream: string, model: string) {
  const start = `${MARK}.${hash(`${upstream}\n${model}`)}.`
  return {
    /** Encodes data as the signature of a thinking block. */
    sign: (kept: Fields) => start + Buffer.from(toJson(kept)).toString('base64url'),
    /** Decodes a block's signature; undefined if it comes from another model or upstream. */
    keptIn: (block: Fields) => encodedIn(block, start),
  }
}

/** Returns whether the gateway created a thinking block, for any model. */
export function isKeptThought({ type, signature }: Fields): boolean {
  return type === 'thinking' && textOf(signature).startsWith(`${MARK}.`)
}

const ITEM = `${MARK}.item.`

/** Stores an item of the Responses API that only OpenAI understands as a thinking block; others drop it. */
export function keepItem(item: Fields): Fields {
  return { type: 'thinking', thinking: '', signature: ITEM + Buffer.from(toJson(item)).toString('base64url') }
}

/** Returns the item stored in a thinking block. */
export function itemIn(block: Fields): Fields | undefined {
  return encodedIn(block, ITEM)
}

/** Decodes what a signature that begins like this holds. */
function encodedIn({ type, signature }: Fields, start: string): Fields | undefined {
  const text = textOf(signature)
  if (type !== 'thinking' || !text.startsWith(start)) return undefined
  const value = jsonOf(Buffer.from(text.slice(start.length), 'base64url').toString())
  return isFields(value) ? value : undefined
}

/** Removes the thinking and the citations that the gateway created: Anthropic's API would refuse them. */
export function withoutKeptThoughts(request: MessagesRequest): MessagesRequest {
  const isKept = (message: Fields) => plain(message) !== message
  if (!request.messages.some(isKept)) return request
  const messages = request.messages.flatMap((message) => {
    const stripped = plain(message)
    return stripped !== message && isEmpty(stripped.content) ? [] : [stripped]
  })
  return { ...request, messages }
}

const plain = oncePerFrozen((message: Fields): Fields => {
  const { role, content } = message
  if (role !== 'assistant' || !Array.isArray(content)) return message
  const kept = content
    .filter((block) => !isKeptThought(fieldsOf(block)))
    .map((block) => (isFields(block) ? withoutForeignCitations(block) : block))
  const isSame = kept.length === content.length && kept.every((block, index) => block === content[index])
  return isSame ? message : Object.freeze({ ...message, content: kept })
})

function isEmpty(content: unknown): boolean {
  return Array.isArray(content) && content.length === 0
}

/** Returns whether the client asks to see thinking. */
export function asksForThinking({ thinking }: MessagesRequest): boolean {
  return ['enabled', 'adaptive'].includes(textOf(fieldsOf(thinking).type))
}

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
function withoutForeignCitations(block: Fields): Fields {
  const citations = listOf(block.citations)
  const own = citations.filter((one) => !textOf(fieldsOf(one).encrypted_index).startsWith(CITED))
  if (own.length === citations.length) return block
  const { citations: _, ...rest } = block
  return own.length === 0 ? rest : { ...rest, citations: own }
}
