// A listed tool as the shelf takes it. Its marks come from the configuration, and from `_meta` within limits: a server
// must not weigh its own tools.
import type { Tool } from '../../core/index.ts'
import type { ListedTool, ServerConfig } from '../types.ts'

export type ShelvedTool = Tool & { readonly listed: ListedTool }

/** `isRefused`: it is searched for, whatever its marks say (always-load.ts). */
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
