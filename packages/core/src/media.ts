// Says what the API would refuse of a block: types that a result cannot hold, and the sources of images, documents and search
// results.

import { type Fields, fieldsOf, isFields } from './lib/json.ts'
import { blocksOf } from './reading.ts'

/** SDK, `ToolResultBlockParam.content`. */
const RESULT_TYPES: ReadonlySet<unknown> = new Set([
  ...['text', 'image', 'search_result', 'document', 'tool_reference', 'browser_state'],
])

/** Checks an item inside a tool_result: its type and its media. */
export function checkResultItem(item: Fields, place: string): string | undefined {
  return RESULT_TYPES.has(item.type) ? checkMedia(item, place) : unexpectedTag(place, item.type)
}

/** Returns the API's message for an unknown type. */
export function unexpectedTag(place: string, type: unknown): string {
  return `${place}: Input tag '${String(type)}' found using 'type' does not match any of the expected tags`
}

/** Checks a block with media; accepts blocks of other types. */
export function checkMedia(block: Fields, place: string): string | undefined {
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
const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const

/** Detects the image type from the first characters of its base64; undefined if unknown. */
export function imageTypeOf(data: string): string | undefined {
  return IMAGE_TYPES[STARTS.findIndex((start) => data.startsWith(start))]
}

/** How the base64 of each of these types starts. */
const STARTS = ['/9j/', 'iVBORw0KGgo', 'R0lGOD', 'UklGR']

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

type Sources = { readonly [type: string]: (source: Fields, place: string) => string | undefined }

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

function checkSource({ source }: Fields, place: string, sources: Sources): string | undefined {
  if (source === undefined) return `${place}: Field required`
  if (!isFields(source)) {
    return `${place}: Input should be a valid dictionary or object to extract fields from`
  }
  const type = String(source.type)
  const check = Object.hasOwn(sources, type) ? sources[type] : undefined
  return check ? check(source, `${place}.${type}`) : unexpectedTag(place, type)
}

function checkImageData(source: Fields, place: string): string | undefined {
  const fault = checkMediaType(source, place, IMAGE_TYPES) ?? checkData(source, place, 'image')
  if (fault) return fault
  const size = String(source.data).length
  if (size > MAX_IMAGE_CHARACTERS) {
    const sizes = `${size} bytes > ${MAX_IMAGE_CHARACTERS} bytes`
    return `${place}: image exceeds 10 MB maximum: ${sizes}`
  }
  const real = imageTypeOf(String(source.data))
  if (real === undefined || real === source.media_type) return undefined
  return `${place}.data: Image does not match the provided media type ${String(source.media_type)}`
}

/** The text is quoted by the API's own errors. */
function checkUrl(source: Fields, place: string): string | undefined {
  const fault = checkString(source, 'url', place)
  if (fault || /^https:\/\//i.test(String(source.url))) return fault
  return 'Only HTTPS URLs are supported.'
}

function checkMediaType(source: Fields, place: string, types: readonly string[]): string | undefined {
  if (types.includes(String(source.media_type))) return undefined
  const quoted = types.map((type) => `'${type}'`)
  const last = quoted.length > 1 ? ` or ${quoted.pop()}` : ''
  return `${place}.media_type: Input should be ${quoted.join(', ')}${last}`
}

function checkData(source: Fields, place: string, what: string): string | undefined {
  const fault = checkString(source, 'data', place)
  if (fault) return fault
  const data = String(source.data)
  if (data.trim() === '') return `${place}: ${what} cannot be empty`
  return isBase64(data) ? undefined : `${place}: invalid base64 data`
}

function checkParts(source: Fields, place: string): string | undefined {
  if (typeof source.content === 'string') return undefined
  if (!Array.isArray(source.content)) return `${place}.content: Input should be a valid list`
  for (const [index, part] of blocksOf(source.content).entries()) {
    const fault = checkPart(part, `${place}.content.${index}`)
    if (fault) return fault
  }
  return undefined
}

function checkPart(part: Fields, place: string): string | undefined {
  if (part.type === 'text') return checkString(part, 'text', place)
  return part.type === 'image' ? checkMedia(part, place) : unexpectedTag(place, part.type)
}

function checkSearchResult(block: Fields, place: string): string | undefined {
  const { content } = block
  const isText = (part: unknown) => fieldsOf(part).type === 'text'
  const fault = checkString(block, 'source', place) ?? checkString(block, 'title', place)
  if (fault) return fault
  return Array.isArray(content) && content.length > 0 && content.every(isText)
    ? undefined
    : `${place}.content: Input should be a valid list of text blocks`
}

function checkString(fields: Fields, name: string, place: string): string | undefined {
  if (fields[name] === undefined) return `${place}.${name}: Field required`
  return typeof fields[name] === 'string' ? undefined : `${place}.${name}: Input should be a valid string`
}
