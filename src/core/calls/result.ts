// Converts a tool's output into a tool_result that the API accepts, without blocks that only the host may write.
// Implements L1.
import { isBlock, messageBlocks, refuse, textBlock, textResult } from '../history/index.ts'
import { checkResultItem, imageTypeOf } from '../oracle/checks/index.ts'
import type { Block, TextBlock, ToolResult, ToolUse } from '../types.ts'

/** Text, content blocks as the API or an MCP server writes them, or an MCP server's whole answer. */
export type Content =
  | string
  | readonly object[]
  | { readonly content: readonly object[]; readonly isError?: boolean }

/** Removes references: the API expands every one, so a reference in a tool's output would load a tool (L1). */
export function toolResult(
  call: ToolUse,
  output: Content,
  options: { readonly isError?: boolean } = {},
): ToolResult {
  const answer: Block = isBlock(output) && !Array.isArray(output) ? output : { content: output }
  const isError = options.isError ?? isErrorAnswer(answer)
  const content = messageBlocks({ content: contentOf(answer) })
    .map(withoutReferences)
    .filter((block) => block !== undefined)
    .flatMap(converted)
    .flatMap((block) => (isError && block.type !== 'text' ? said(besideError(block)) : [block]))
  const base = (text: string) => (isError ? refuse(call, text) : textResult(call, text))
  return content.length === 0
    ? base('The tool returned nothing.')
    : { ...base(''), content: content as TextBlock[] }
}

/** An MCP server's answer has `isError`, a tool_result `is_error`. */
function isErrorAnswer({ type, isError, is_error }: Block): boolean {
  return isError === true || (type === 'tool_result' && is_error === true)
}

/** Returns the content of an answer; if it has none, its structured content, or else the answer itself as JSON. */
function contentOf(answer: Block): unknown {
  const { content, structuredContent } = answer
  const isEmpty = content === undefined || (Array.isArray(content) && content.length === 0)
  if (isEmpty && structuredContent !== undefined)
    return [{ type: 'text', text: jsonOrRemark(stripped(structuredContent, MAX_DEPTH)) }]
  if (!('content' in answer)) return [answer]
  return typeof content === 'object' || content === undefined ? content : String(content)
}

/** Converts a block for a result; a block that the API would refuse becomes text. */
function converted(block: Block): Block[] {
  const { type, text, data, resource, uri } = block
  if (type === 'text') return said(text)
  if (type === 'image') return image(block, typeof data === 'string' ? mcpSource(block) : block.source)
  if (type === 'resource' && isBlock(resource)) {
    return said(typeof resource.text === 'string' ? resource.text : `A resource: ${String(resource.uri)}`)
  }
  if (type === 'resource_link') return said(`A resource: ${String(uri)}`)
  if (type === 'audio') return said('An audio clip that cannot be shown here.')
  return checkResultItem(block, '') ? said(jsonOrRemark(block)) : [block]
}

/** Converts an MCP server's image; some servers send a data URL, some name the wrong type. */
function mcpSource({ data, mimeType }: Block): Block {
  const url = /^data:([^;,]*);base64,/.exec(String(data).slice(0, 100))
  const base64 = String(data).slice(url?.[0].length ?? 0)
  return { type: 'base64', media_type: imageTypeOf(base64) ?? url?.[1] ?? mimeType, data: base64 }
}

function image(block: Block, source: unknown): Block[] {
  const shown = { type: 'image', source }
  if (!checkResultItem(shown, '')) return [shown]
  const type = block.mimeType ?? (isBlock(source) ? source.media_type : undefined)
  return said(`An image of type ${String(type)} that cannot be shown here.`)
}

/** Replaces a block in an error result, where the API accepts only text. */
function besideError({ type }: Block): string {
  return `The error came with a block of type "${String(type)}", which cannot be shown beside it.`
}

function said(text: unknown): Block[] {
  return text === '' ? [] : [textBlock(String(text).toWellFormed())]
}

/** Block types that only the host and the API may write. */
const HOST_TYPES: ReadonlySet<unknown> = new Set([
  ...['tool_reference', 'tool_addition', 'tool_removal', 'tool_search_tool_result'],
])
const MAX_DEPTH = 64

/** Removes references and breakpoints at any depth; returns undefined for a reference, or if nested too deeply. */
function withoutReferences(block: Block): Block | undefined {
  return stripped(block, MAX_DEPTH) as Block | undefined
}

function stripped(value: unknown, depth: number): unknown {
  if (!isBlock(value) || !isPlain(value)) return value
  if (depth === 0 || HOST_TYPES.has(value.type)) return undefined
  const inner = (one: unknown) => stripped(one, depth - 1)
  if (Array.isArray(value)) return value.map(inner).filter((item) => item !== undefined)
  const entries = Object.entries(value)
    .filter(([name]) => name !== 'cache_control')
    .map(([name, one]) => [name, inner(one)] as const)
  return Object.fromEntries(entries.filter(([, one]) => one !== undefined))
}

/** Whether a value may come from JSON; instances of classes are the host's own objects. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null || Array.isArray(value)
}

function jsonOrRemark(value: unknown): string {
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return 'Something that cannot be written as text.'
  }
}
