// Takes servers out of a client's file and puts one entry in their place, and the other way round. Every result is
// parsed and compared, so that a text which cannot be edited safely is refused.
import { isDeepStrictEqual } from 'node:util'
import { parse as parseToml } from 'smol-toml'
import { type Fields, isFields } from '../../lib/index.ts'
import { editMembers, type NewEntry, valueAt, valueText } from './edit-json.ts'
import { editTables } from './edit-toml.ts'
import { applyEdits } from './edits.ts'
import { parseJson } from './json.ts'

/** A part of a file with servers, in front of and behind a move. In JSON it is the object at `path`. */
export type MovedPart = { readonly path: readonly string[]; readonly before: string; readonly after: string }

export type Moved = { readonly text: string; readonly parts: readonly MovedPart[] }

/**
 * Returns the text without the servers at these paths and with `entry` in place of the first. Throws an error that says
 * why this text cannot be edited. If another server has the entry's name, the entry gets a number.
 */
export function moveServers(
  text: string,
  servers: readonly (readonly string[])[],
  entry: NewEntry | undefined,
): Moved {
  const format = formatOf(text)
  const wanted = withoutServers(format.parse(text), servers)
  const group = objectAt(wanted, servers[0]?.slice(0, -1) ?? [])
  const named = entry && { ...entry, name: freeName(entry.name, group) }
  if (named) group?.set(named.name, named.fields)
  const moved = format.move(text, groupsOf(servers), named)
  if (!isDeepStrictEqual(plain(wanted), format.parse(moved.text)))
    throw new Error('its servers cannot be taken out without changing something else')
  return moved
}

/**
 * Puts the servers back into a text that was edited elsewhere after the move. Returns undefined if the servers' part was
 * edited, too.
 */
export function restoreServers(text: string, parts: readonly MovedPart[]): string | undefined {
  try {
    const format = formatOf(text)
    return parts.reduce((current, part) => format.restore(current, part), text)
  } catch {
    return undefined
  }
}

type Group = { readonly path: readonly string[]; readonly names: ReadonlySet<string> }

type Format = {
  readonly parse: (text: string) => unknown
  readonly move: (text: string, groups: readonly Group[], entry: NewEntry | undefined) => Moved
  /** Throws if the part is not as the move left it. */
  readonly restore: (text: string, part: MovedPart) => string
}

const json: Format = {
  parse: (text) => parseJson(text).value,
  move(text, groups, entry) {
    const edits = groups.flatMap(({ path, names }, index) =>
      editMembers(text, path, names, index === 0 ? entry : undefined),
    )
    const changed = applyEdits(text, edits)
    const parts = groups.map(({ path }) => ({
      path,
      before: valueText(text, path),
      after: valueText(changed, path),
    }))
    return { text: changed, parts }
  },
  restore(text, { path, before, after }) {
    const { start, end } = valueAt(text, path)
    if (text.slice(start, end) !== after) throw new Error('its servers have changed')
    return applyEdits(text, [{ start, end, text: before }])
  },
}

const toml: Format = {
  parse: (text) => plain(parseToml(text.replace(/^\uFEFF/, ''))),
  move(text, groups, entry) {
    const names = new Set(groups.flatMap((group) => [...group.names]))
    const servers = (toml.parse(text) as Fields).mcp_servers
    const isWhole = isFields(servers) && Object.keys(servers).every((name) => names.has(name))
    const { edits, removed, added } = editTables(text, names, entry, isWhole)
    return {
      text: applyEdits(text, edits),
      parts: [{ path: ['mcp_servers'], before: removed, after: added }],
    }
  },
  restore(text, { before, after }) {
    const at = after === '' ? text.length : text.indexOf(after)
    if (at < 0 || (after !== '' && text.indexOf(after, at + 1) >= 0))
      throw new Error('its servers have changed')
    const restored = applyEdits(text, [{ start: at, end: at + after.length, text: before }])
    if (!isDeepStrictEqual(serversOf(restored), { ...serversOf(text, after), ...serversOf(before) }))
      throw new Error('its servers have changed')
    return restored
  },
}

/** The servers of a text, without those of the part `taken`. */
function serversOf(text: string, taken = ''): Fields {
  const servers = (toml.parse(text) as Fields).mcp_servers
  const other = taken === '' ? {} : serversOf(taken)
  const own = isFields(servers) ? Object.entries(servers) : []
  return Object.fromEntries(own.filter(([name]) => !Object.hasOwn(other, name)))
}

function formatOf(text: string): Format {
  try {
    parseJson(text)
    return json
  } catch (error) {
    try {
      toml.parse(text)
      return toml
    } catch {
      throw error
    }
  }
}

function groupsOf(servers: readonly (readonly string[])[]): Group[] {
  const groups: { path: readonly string[]; names: Set<string> }[] = []
  for (const server of servers) {
    const path = server.slice(0, -1)
    const name = server.at(-1) ?? ''
    const group = groups.find((one) => isDeepStrictEqual(one.path, path))
    if (group) group.names.add(name)
    else groups.push({ path, names: new Set([name]) })
  }
  return groups
}

function freeName(name: string, group: Nested | undefined): string {
  let free = name
  for (let count = 2; group?.has(free); count++) free = `${name}-${count}`
  return free
}

/** A document as nested maps, which take any name. */
type Nested = Map<string, unknown>

function withoutServers(document: unknown, servers: readonly (readonly string[])[]): unknown {
  const copy = nested(document, servers)
  for (const server of servers) objectAt(copy, server.slice(0, -1))?.delete(server.at(-1) ?? '')
  return copy
}

/** Copies the objects that lead to a server as maps; everything else stays as it is. */
function nested(value: unknown, paths: readonly (readonly string[])[]): unknown {
  const leading = paths.filter((path) => path.length > 0)
  if (!isFields(value) || leading.length === 0) return value
  return new Map(
    Object.entries(value).map(([key, item]) => [
      key,
      nested(
        item,
        leading.filter(([first]) => first === key).map((path) => path.slice(1)),
      ),
    ]),
  )
}

function objectAt(document: unknown, path: readonly string[]): Nested | undefined {
  let found = document
  for (const key of path) found = found instanceof Map ? found.get(key) : undefined
  return found instanceof Map ? (found as Nested) : undefined
}

/** A copy of plain objects alone: those of the TOML parser have no prototype, and would differ by that. */
function plain(value: unknown): unknown {
  if (value instanceof Map) return plain(Object.fromEntries(value))
  if (Array.isArray(value)) return value.map(plain)
  if (!isFields(value) || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]))
}
