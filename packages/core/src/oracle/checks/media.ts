// Checks images, documents and search results: their sources, and that they are not empty.

import { type Fields, fieldsOf, isFields } from '../../lib/json.ts'
import { firstRefusal, type Refusal } from '../error.ts'
import { blocksOf } from '../turns.ts'
import { unexpectedTag } from './blocks.ts'

/** Checks a block with media; accepts blocks of other types. */
export function checkMedia(block: Fields, place: string): Refusal | undefined {
  switch (block.type) {
    case 'image':
      return checkSource(block, `${place}.image.source`, imageSources)
    case 'document':
      return checkSource(block, `${place}.document.source`, documentSources)
    case 'search_result':
      return checkSearchResult(block, `${place}.search_result`)
    case 'container_upload':
      return checkString(block, 'file_id', `${place}.container_upload`)
    default:
      return undefined
  }
}

/** SDK, `Base64ImageSource.media_type`. */
const IMAGE_TYPES: readonly string[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']

/** Detects the image type from the first characters of its base64; undefined if unknown. */
export function imageTypeOf(data: string): string | undefined {
  return SIGNATURES.find(([start]) => data.startsWith(start))?.[1]
}

const SIGNATURES: readonly (readonly [start: string, type: string])[] = [
  ['/9j/', 'image/jpeg'],
  ['iVBORw0KGgo', 'image/png'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
]

/** Maximum base64 characters of one image, as quoted in the API's own errors. */
const MAX_IMAGE_CHARACTERS = 10_485_760

/**
 * Returns whether a string is base64: groups of four characters, ignoring white space. Uses no repetition such as `[…]+`,
 * which overflows the stack over millions of characters if V8 does not optimise the expression.
 */
function isBase64(data: string): boolean {
  const solid = data.replace(/\s/g, '')
  const padding = solid.indexOf('=')
  const isPadded = padding < 0 || /^={1,2}$/.test(solid.slice(padding, padding + 3))
  return solid.length % 4 === 0 && isPadded && solid !== '' && !/[^A-Za-z0-9+/=]/.test(solid)
}

type Sources = { readonly [type: string]: (source: Fields, place: string) => Refusal | undefined }

/** SDK, `ImageBlockParam.source`. */
const imageSources: Sources = {
  base64: checkImageData,
  url: checkUrl,
  file: (source, place) => checkString(source, 'file_id', place),
}

/** SDK, `DocumentBlockParam.source`. */
const documentSources: Sources = {
  base64: (source, place) =>
    checkMediaType(source, place, ['application/pdf']) ?? checkData(source, place, 'PDF'),
  text: (source, place) =>
    checkMediaType(source, place, ['text/plain']) ?? checkString(source, 'data', place),
  content: checkParts,
  url: checkUrl,
  file: (source, place) => checkString(source, 'file_id', place),
}

function checkSource({ source }: Fields, place: string, sources: Sources): Refusal | undefined {
  if (source === undefined) return { message: `${place}: Field required` }
  if (!isFields(source)) {
    return { message: `${place}: Input should be a valid dictionary or object to extract fields from` }
  }
  const type = String(source.type)
  const check = Object.hasOwn(sources, type) ? sources[type] : undefined
  return check ? check(source, `${place}.${type}`) : { message: unexpectedTag(place, type) }
}

function checkImageData(source: Fields, place: string): Refusal | undefined {
  const fault = checkMediaType(source, place, IMAGE_TYPES) ?? checkData(source, place, 'image')
  if (fault) return fault
  const size = String(source.data).length
  if (size > MAX_IMAGE_CHARACTERS) {
    const sizes = `${size} bytes > ${MAX_IMAGE_CHARACTERS} bytes`
    return { message: `${place}: image exceeds 10 MB maximum: ${sizes}` }
  }
  const real = imageTypeOf(String(source.data))
  if (real === undefined || real === source.media_type) return undefined
  return {
    message: `${place}.data: Image does not match the provided media type ${String(source.media_type)}`,
  }
}

/** The text is quoted by the API's own errors. */
function checkUrl(source: Fields, place: string): Refusal | undefined {
  const fault = checkString(source, 'url', place)
  if (fault || /^https:\/\//i.test(String(source.url))) return fault
  return { message: 'Only HTTPS URLs are supported.' }
}

function checkMediaType(source: Fields, place: string, types: readonly string[]): Refusal | undefined {
  if (types.includes(String(source.media_type))) return undefined
  const quoted = types.map((type) => `'${type}'`)
  const last = quoted.length > 1 ? ` or ${quoted.pop()}` : ''
  return { message: `${place}.media_type: Input should be ${quoted.join(', ')}${last}` }
}

function checkData(source: Fields, place: string, what: string): Refusal | undefined {
  const fault = checkString(source, 'data', place)
  if (fault) return fault
  const data = String(source.data)
  if (data.trim() === '') return { message: `${place}: ${what} cannot be empty` }
  return isBase64(data) ? undefined : { message: `${place}: invalid base64 data` }
}

function checkParts(source: Fields, place: string): Refusal | undefined {
  if (typeof source.content === 'string') return undefined
  if (!Array.isArray(source.content)) return { message: `${place}.content: Input should be a valid list` }
  return firstRefusal(blocksOf(source.content).entries(), ([index, part]) => {
    const at = `${place}.content.${index}`
    if (part.type === 'text') return checkString(part, 'text', at)
    return part.type === 'image' ? checkMedia(part, at) : { message: unexpectedTag(at, String(part.type)) }
  })
}

function checkSearchResult(block: Fields, place: string): Refusal | undefined {
  const { content } = block
  const isText = (part: unknown) => fieldsOf(part).type === 'text'
  const fault = checkString(block, 'source', place) ?? checkString(block, 'title', place)
  if (fault) return fault
  return Array.isArray(content) && content.length > 0 && content.every(isText)
    ? undefined
    : { message: `${place}.content: Input should be a valid list of text blocks` }
}

function checkString(fields: Fields, name: string, place: string): Refusal | undefined {
  if (fields[name] === undefined) return { message: `${place}.${name}: Field required` }
  return typeof fields[name] === 'string'
    ? undefined
    : { message: `${place}.${name}: Input should be a valid string` }
}
