// Converts the output of an MCP tool into blocks of a tool_result. A block that a model cannot read becomes a line that
// describes it.
import { type Block, toJson } from '@toolshelf/core/internal'
import type { CallOutput } from '../types.ts'

type McpBlock = CallOutput['content'][number]

const IMAGES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

export function toBlocks({ content, structuredContent }: CallOutput): Block[] {
  if (content.length > 0) return content.map(toBlock)
  if (structuredContent !== undefined) return [text(toJson(structuredContent))]
  return []
}

function toBlock(block: McpBlock): Block {
  const { type, data, mimeType, uri } = block
  if (type === 'text') return text(String(block.text ?? ''))
  if (type === 'image' && IMAGES.has(String(mimeType))) return image(String(mimeType), String(data))
  if (type === 'image' || type === 'audio')
    return text(`[${type} of type ${mimeType}, ${String(data ?? '').length} base64 characters]`)
  if (type === 'resource_link') {
    const about = [block.title ?? block.name, block.description].filter(Boolean).join(': ')
    return text(`[resource ${uri}${about ? ` (${about})` : ''}]`)
  }
  if (type === 'resource') return resource((block.resource ?? {}) as Partial<McpBlock>)
  return text(toJson(block))
}

function resource({ uri, mimeType, text: written, blob }: Partial<McpBlock>): Block {
  if (typeof written === 'string') return text(`[resource ${uri}]\n${written}`)
  if (typeof blob === 'string' && IMAGES.has(String(mimeType))) return image(String(mimeType), blob)
  return text(
    `[resource ${uri} of type ${mimeType ?? 'unknown'}, ${String(blob ?? '').length} base64 characters]`,
  )
}

function text(written: string): Block {
  return { type: 'text', text: written }
}

function image(mediaType: string, data: string): Block {
  return { type: 'image', source: { type: 'base64', media_type: mediaType, data } }
}
