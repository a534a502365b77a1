// What a block says about tools: the names it refers to, and the change it makes.

import { type Fields, fieldsOf, isFields, listOf, textOf } from '../../lib/index.ts'
import { nameOf } from './catalogue.ts'
import { blocksOf } from './turns.ts'

/** The `tool_reference` blocks inside a client's or the API's own search result. */
export function referencesIn(block: Fields): readonly Fields[] {
  if (block.type === 'tool_result') return blocksOf(block.content).filter(isReference)
  if (block.type !== 'tool_search_tool_result') return []
  return listOf(fieldsOf(block.content).tool_references).filter(isFields).filter(isReference)
}

/** Whether a content item is a `tool_reference`; null, which a broken history may hold, is not. */
export function isReference(block: Fields | null): boolean {
  return block?.type === 'tool_reference'
}

/** A change of the tool set in the middle of a conversation; here a reference says `name`, not `tool_name`. */
export type ToolChange = {
  readonly kind: 'addition' | 'removal'
  /** The tool's name; for an MCP tool or toolset its server, which is what `tools` declares. */
  readonly name: string
  /** The definition of a tool that is added by value. */
  readonly definition: Fields | undefined
}

export function changeIn(block: Fields): ToolChange | undefined {
  if (!isChange(block)) return undefined
  const kind = block.type === 'tool_addition' ? 'addition' : 'removal'
  const tool = fieldsOf(block.tool)
  if (tool.type === 'tool_definition') {
    const definition = fieldsOf(tool.definition)
    return { kind, name: nameOf(definition), definition }
  }
  const name = tool.type === 'tool_reference' ? textOf(tool.name) : textOf(tool.server_name)
  return { kind, name, definition: undefined }
}

/** Blocks that can bring tools into sight or take them out of it. */
export function mayChangeView({ type, content }: Fields): boolean {
  if (type === 'tool_result')
    return Array.isArray(content) && content.some((item) => isReference(fieldsOf(item)))
  return CHANGING.has(type)
}

const CHANGING: ReadonlySet<unknown> = new Set([
  ...['tool_search_tool_result', 'tool_addition', 'tool_removal', 'compaction'],
])

export function isChange(block: Fields): boolean {
  return block.type === 'tool_addition' || block.type === 'tool_removal'
}
