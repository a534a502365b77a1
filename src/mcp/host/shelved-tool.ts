// Converts a listed tool for the shelf. Its ranking hints and marks come from the configuration, and from `_meta` only
// within limits: a server must not promote its own tools.
import type { Tool } from '../../core/index.ts'
import type { ListedTool, ServerConfig } from '../types.ts'

export type ShelvedTool = Tool & { readonly listed: ListedTool }

/** `isRefused`: must be searched for despite its marks (always-load.ts). */
export function toShelvedTool(
  listed: ListedTool,
  { name: server, tools }: ServerConfig,
  isRefused = false,
): ShelvedTool {
  const { name, description, inputSchema, annotations, _meta } = listed
  const { alwaysLoad: configured, hint } = (Object.hasOwn(tools, name) ? tools[name] : undefined) ?? {}
  const alwaysLoad = isRefused ? false : configured
  return {
    name,
    server,
    listed,
    ...(description !== undefined ? { description } : {}),
    inputSchema,
    ...(typeof annotations === 'object' && annotations !== null ? { annotations } : {}),
    ...(typeof _meta === 'object' && _meta !== null ? { _meta } : {}),
    ...(alwaysLoad !== undefined ? { alwaysLoad } : {}),
    ...(hint !== undefined ? { searchHint: hint } : {}),
  }
}
