// Decides who may use a tool, according to the MCP Apps extension: the model, the server's pages, or both.
import type { Fields } from '../../lib/index.ts'
import type { ListedTool } from '../types.ts'

/** Returns false for a tool that only pages may call: `_meta.ui.visibility` without "model". */
export function isForModel(tool: ListedTool): boolean {
  return visibilityOf(tool)?.includes('model') ?? true
}

/** Returns false for a tool that pages may not call. */
export function isForPages(tool: ListedTool): boolean {
  return visibilityOf(tool)?.includes('app') ?? true
}

function visibilityOf({ _meta }: ListedTool): readonly unknown[] | undefined {
  const { ui } = (_meta ?? {}) as Fields
  const { visibility } = (ui ?? {}) as Fields
  return Array.isArray(visibility) ? visibility : undefined
}
