// A tool's output → its tool_result, in shapes that the API takes, cleaned of what only the host may write.
import { blocksOf, isBlock, refuse, sayTo, textBlock } from '../history/blocks.ts'
import type { Block, TextBlock, ToolResult, ToolUse } from '../types.ts'

/** Text, content blocks as the API or an MCP server writes them, or an MCP server's whole answer. */
export type Content =
  | string
  | readonly object[]
  | { readonly content: readonly object[]; readonly isError?: boolean }

/** The API expands every reference it sees, so one in a foreign tool's output would load a tool (L1). */
export function toolResult(
  call: ToolUse,
  output: Content,
  options: { readonly isError?: boolean } = {},
): ToolResult {
  const answer = isBlock(output) && 'content' in output ? output : { content: output, isError: false }
  const isError = options.isError ?? answer.isError === true
  const given =
    typeof answer.content === 'object' || answer.content === undefined
      ? answer.content
      : String(answer.content)
  const content = blocksOf({ content: given }).flatMap(converted)
  const base = (text: string) => (isError ? refuse(call, text) : sayTo(call, text))
  return content.length === 0
    ? base('The tool returned nothing.')
    : { ...base(''), content: content as TextBlock[] }
}

/** A block as the API takes it in a result; a reference, or a block of nothing, is left out, what is no block is told. */
function converted(block: Block): Block[] {
  const { type, text, data, mimeType, resource, uri } = block
  if (type === 'text') return said(text)
  if (type === 'tool_reference' || type === 'tool_addition' || type === 'tool_removal') return []
  if (type === 'image' && typeof data === 'string') {
    return IMAGES.has(mimeType)
      ? [{ type, source: { type: 'base64', media_type: mimeType, data } }]
      : said(`An image of type ${String(mimeType)} that cannot be shown here.`)
  }
  if (type === 'resource' && isBlock(resource)) {
    return said(typeof resource.text === 'string' ? resource.text : `A resource: ${String(resource.uri)}`)
  }
  if (type === 'resource_link') return said(`A resource: ${String(uri)}`)
  if (type === 'audio') return said('An audio clip that cannot be shown here.')
  return typeof type === 'string' ? [block] : said(JSON.stringify(block))
}

/** The only ones that the API takes: another would be refused with all that follows it. */
const IMAGES: ReadonlySet<unknown> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

function said(text: unknown): Block[] {
  return text === '' ? [] : [textBlock(String(text).toWellFormed())]
}
