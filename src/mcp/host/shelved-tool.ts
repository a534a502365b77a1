// A listed tool as the shelf takes it. Its marks come from the configuration, and from `_meta` as the protocol has it: a
// server must not weigh its own tools.
import type { Tool } from '../../core/index.ts'
import type { ListedTool, ServerConfig } from '../types.ts'

export type ShelvedTool = Tool & { readonly listed: ListedTool }

export function toShelvedTool(listed: ListedTool, { name: server, tools }: ServerConfig): ShelvedTool {
  const { name, description, inputSchema, _meta } = listed
  const { alwaysLoad, hint } = (Object.hasOwn(tools, name) ? tools[name] : undefined) ?? {}
  return {
    name,
    server,
    listed,
    ...(description !== undefined ? { description } : {}),
    inputSchema,
    ...(typeof _meta === 'object' && _meta !== null ? { _meta } : {}),
    ...(alwaysLoad !== undefined ? { alwaysLoad } : {}),
    ...(hint !== undefined ? { searchHint: hint } : {}),
  }
}
