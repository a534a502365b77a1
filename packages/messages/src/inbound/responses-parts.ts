// Converts the content of messages and results of the Responses API to blocks.
import { type Fields, fieldsOf, listOf, textOf } from '@toolshelf/core/internal'
import { refuseRequest } from '../errors.ts'
import { mediaSource } from './openai-content.ts'

/** Converts a text or a list of parts; `place` names it in errors. */
export function fromParts(content: unknown, place: string): Fields[] {
  if (typeof content === 'string') return textBlocks(content)
  return listOf(content)
    .map(fieldsOf)
    .flatMap((part) => fromPart(part, place))
}

function fromPart(part: Fields, place: string): Fields[] {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
    case 'summary_text':
    case 'reasoning_text':
      return textBlocks(part.text)
    case 'refusal':
      return textBlocks(part.refusal)
    case 'input_image':
    case 'computer_screenshot':
      return [{ type: 'image', source: imageSource(part, place) }]
    case 'input_file':
      return [fromFile(part, place)]
    case 'encrypted_content':
      // Only OpenAI can read it.
      return []
    default:
      throw refuseRequest(
        400,
        'invalid_request_error',
        `${place}: a content part of type "${textOf(part.type).slice(0, 40)}" cannot be converted for this upstream; send input_text, input_image or input_file`,
      )
  }
}

function textBlocks(text: unknown): Fields[] {
  return textOf(text) === '' ? [] : [{ type: 'text', text }]
}

function imageSource({ image_url: given, file_id: id }: Fields, place: string): Fields {
  const url = textOf(given) || textOf(fieldsOf(given).url)
  if (url === '') throw byId('image', id, 'image_url with a URL or a data URL', place)
  return mediaSource(url)
}

function fromFile({ file_data: data, file_url: url, file_id: id, filename }: Fields, place: string): Fields {
  const title = textOf(filename) === '' ? {} : { title: filename }
  if (textOf(url) !== '') return { type: 'document', source: { type: 'url', url }, ...title }
  const text = textOf(data)
  if (text === '') throw byId('file', id, 'file_data with the content', place)
  const source = mediaSource(text.startsWith('data:') ? text : `data:application/pdf;base64,${text}`)
  return { type: 'document', source: textSource(source) ?? source, ...title }
}

/** The Messages API takes text as text; only PDF files are sent as base64. */
function textSource({ media_type: type, data }: Fields): Fields | undefined {
  if (!textOf(type).startsWith('text/')) return undefined
  return { type: 'text', media_type: 'text/plain', data: Buffer.from(textOf(data), 'base64').toString() }
}

function byId(what: string, id: unknown, expected: string, place: string) {
  const message = `${place}: the ${what} "${textOf(id).slice(0, 60)}" is given by its id, and the gateway has no files of yours; send ${expected}`
  return refuseRequest(400, 'invalid_request_error', message)
}
