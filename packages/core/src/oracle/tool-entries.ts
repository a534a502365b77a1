// Reads the entries of `tools`: name, kind, whether each is deferred, and its text.

import {
  type Fields,
  fieldsOf,
  isFields,
  listOf,
  omitFields,
  textOf,
  toJson,
  withoutCacheControl,
} from '../lib/json.ts'
import { oncePerFrozen } from '../lib/objects.ts'

/** An entry of `tools`. */
export type Entry = {
  readonly name: string
  readonly deferred: boolean
  /** What the model sees once the tool is visible, without fields that only one request adds. */
  readonly definition: string
}

/** Reads all entries of `tools`. */
export function entriesOf(tools: unknown): Entry[] {
  return listOf(tools).map(entryOf)
}

/** Reads one entry of `tools`. */
export function entryOf(tool: unknown): Entry {
  return readEntry(fieldsOf(tool))
}

const readEntry = oncePerFrozen(
  (tool: Fields): Entry => ({
    name: nameOf(tool),
    deferred: isDeferred(tool),
    definition: toJson(withoutCacheControl(omitFields(tool, 'defer_loading'))),
  }),
)

const TOOLSET = /^(computer|browser)_toolset_\d{8}$/

/** Returns `custom`, or the type of a tool that the API defines. */
export function kindOf(tool: Fields): string {
  return textOf(tool.type) || 'custom'
}

/** Returns whether an entry is a toolset. */
export function isToolset(tool: Fields): boolean {
  return TOOLSET.test(kindOf(tool))
}

/** Returns whether each enabled member that a toolset configures is deferred; other members are ignored. */
export function memberDeferrals(toolset: Fields): boolean[] {
  return Object.values(fieldsOf(toolset.configs))
    .filter(isFields)
    .filter((member) => member.enabled !== false)
    .map((member) => member.defer_loading === true)
}

/** Returns the name that references use: for a toolset, its family or its server. */
export function nameOf(tool: Fields): string {
  if (tool.name !== undefined) return textOf(tool.name)
  return TOOLSET.exec(kindOf(tool))?.[1] ?? textOf(tool.mcp_server_name)
}

/** Returns whether an entry is deferred. */
export function isDeferred(tool: Fields): boolean {
  if (isToolset(tool)) {
    const members = memberDeferrals(tool)
    return members.length > 0 && members.every(Boolean)
  }
  if (tool.type === 'mcp_toolset') return fieldsOf(tool.default_config).defer_loading === true
  return tool.defer_loading === true
}
