// Reads what a block says about tools: the names that it refers to, and the tool change that it makes.

import { type Fields, fieldsOf, isFields, listOf, textOf } from '../lib/json.ts'
import { nameOf } from './tool-entries.ts'
import { blocksOf } from './turns.ts'

/** Returns the `tool_reference` blocks inside the result of a client's search or of a hosted one. */
export function referencesIn(block: Fields): readonly Fields[] {
  if (block.type === 'tool_result') return blocksOf(block.content).filter(isReference)
  if (block.type !== 'tool_search_tool_result') return []
  return listOf(fieldsOf(block.content).tool_references).filter(isFields).filter(isReference)
}

/** Returns whether a content item is a `tool_reference`; accepts null, which a broken history may contain. */
export function isReference(block: Fields | null): boolean {
  return block?.type === 'tool_reference'
}

/** A tool change in the middle of a conversation; its references use `name`, not `tool_name`. */
export type ToolChange = {
  readonly kind: 'addition' | 'removal'
  /** The tool's name; for an MCP tool or toolset its server, which is what `tools` declares. */
  readonly name: string
  /** The definition of a tool that is added by value. */
  readonly definition: Fields | undefined
}

/** Returns the tool change that a block makes. */
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

/** Returns whether a block can show or hide tools. */
export function mayChangeView({ type, content }: Fields): boolean {
  if (type === 'tool_result')
    return Array.isArray(content) && content.some((item) => isReference(fieldsOf(item)))
  return CHANGING.has(type)
}

const CHANGING: ReadonlySet<unknown> = new Set([
  ...['tool_search_tool_result', 'tool_addition', 'tool_removal', 'compaction'],
])

/** Returns whether a block is a tool change. */
export function isChange(block: Fields): boolean {
  return block.type === 'tool_addition' || block.type === 'tool_removal'
}
