// Moves servers out of a client's file and puts one entry in their place, and back. Parses and compares every result, so
// that a text that cannot be edited safely is refused.
import { isDeepStrictEqual } from 'node:util'
import { type Fields, fieldsOf, isFields } from '@toolshelf/core/internal'
import { parse as parseToml } from 'smol-toml'
import { editMembers, type NewEntry, valueAt } from './edit-json.ts'
import { editTables } from './edit-toml.ts'
import { applyEdits } from './edits.ts'
import { parseJson } from './json.ts'
import { setJsonValue } from './set-json.ts'

/** A part of a file with servers, before and after a move. In JSON it is the object at `path`. */
export type MovedPart = { readonly path: readonly string[]; readonly before: string; readonly after: string }

/** The changed text, and the parts that changed. */
type Moved = { readonly text: string; readonly parts: readonly MovedPart[] }

/**
 * Returns the text without the servers at these paths and with `entry` in place of the first. Throws an error that says
 * why this text cannot be edited. If another server has the entry's name, the entry gets a number.
 */
export function moveServers(
  text: string,
  servers: readonly (readonly string[])[],
  entry: NewEntry | undefined,
): Moved {
  const { value, move, parse } = read(text)
  const wanted = withoutServers(value, servers)
  const path = servers[0]?.slice(0, -1) ?? []
  const group = objectAt(wanted, path)
  const named = entry && { ...entry, name: freeName(entry.name, group) }
  if (named) group?.set(named.name, named.fields)
  const changed = move(groupsOf(servers), named)
  const result = parse(changed.text)
  // In TOML, removing the last server removes the table of all servers.
  if (group?.size === 0 && isFields(result.value) && path.length === 1 && !(path[0]! in result.value))
    objectAt(wanted, [])?.delete(path[0]!)
  if (!isDeepStrictEqual(withoutMaps(wanted), result.value))
    throw new Error('its servers cannot be taken out without changing something else')
  return { text: changed.text, parts: changed.partsOf(result) }
}

/**
 * Puts the servers back into a text that was edited elsewhere after the move. Returns undefined if the servers' part was
 * edited, too; servers added beside the entry stay, and another layout of the same JSON does not count as an edit.
 */
export function restoreServers(text: string, parts: readonly MovedPart[]): string | undefined {
  try {
    return parts.reduce((current, part) => read(current).restore(part), text)
  } catch {
    return undefined
  }
}

/** Returns a part as it is in `text`, which may have been edited since the move; empty if it cannot be found. */
export function currentPart(text: string, part: MovedPart): string {
  try {
    return read(text).textOf(part)
  } catch {
    return ''
  }
}

type Group = { readonly path: readonly string[]; readonly names: ReadonlySet<string> }

/** A parsed text, so that a large one is parsed once. */
type Document = {
  readonly value: unknown
  readonly parse: (text: string) => Document
  readonly move: (groups: readonly Group[], entry: NewEntry | undefined) => Change
  /** Returns the text with the part restored; throws if the part is not as the move left it. */
  readonly restore: (part: MovedPart) => string
  /** Returns the text of the object at `path`; in TOML of the tables that the move wrote. */
  readonly textOf: (part: { readonly path: readonly string[]; readonly after?: string }) => string
}

type Change = {
  readonly text: string
  /** Returns the parts that changed, given the changed text. */
  readonly partsOf: (changed: Document) => readonly MovedPart[]
}

function readJson(text: string): Document {
  const parsed = parseJson(text)
  const textOf = ({ path }: { readonly path: readonly string[] }) => {
    const { start, end } = valueAt(parsed, path)
    return text.slice(start, end)
  }
  return {
    value: parsed.value,
    parse: readJson,
    textOf,
    move(groups, entry) {
      const edits = groups.flatMap(({ path, names }, index) =>
        editMembers(text, parsed, path, names, index === 0 ? entry : undefined),
      )
      return {
        text: applyEdits(text, edits),
        partsOf: (changed) =>
          groups.map(({ path }) => ({ path, before: textOf({ path }), after: changed.textOf({ path }) })),
      }
    },
    restore({ path, before, after }) {
      const current = textOf({ path })
      const added = current === after ? [] : addedMembers(current, before, after)
      const restored = applyEdits(text, [{ ...valueAt(parsed, path), text: before }])
      return added.reduce((edited, [name, value]) => setJsonValue(edited, [...path, name], value), restored)
    },
  }
}

/**
 * Returns the members that were added to a part since it was written, perhaps in another layout: clients rewrite their files
 * when they start. Throws if anything else has changed, if a comment is new, which is somebody's edit, or if one has the name
 * of a server that goes back.
 */
function addedMembers(current: string, before: string, written: string): [name: string, value: unknown][] {
  const membersOf = (text: string) => fieldsOf(parseJson(text).value)
  const [now, old, back] = [membersOf(current), membersOf(written), membersOf(before)]
  const added = Object.entries(now).filter(([name]) => !Object.hasOwn(old, name))
  const known = commentsIn(written)
  const isKept =
    Object.entries(old).every(([name, value]) => isDeepStrictEqual(now[name], value)) &&
    commentsIn(current).every((comment) => known.includes(comment))
  if (!isKept || added.some(([name]) => Object.hasOwn(back, name)))
    throw new Error('its servers have changed')
  return added
}

/** Returns the comments of JSON; a text in quotes may look like one. */
function commentsIn(json: string): string[] {
  const tokens = json.match(/"(?:\\.|[^"\\])*"|\/\/[^\r\n]*|\/\*[\s\S]*?\*\//g) ?? []
  return tokens.filter((token) => !token.startsWith('"')).map((comment) => comment.trim())
}

function readToml(text: string): Document {
  const value = tomlIn(text)
  return {
    value,
    parse: readToml,
    textOf: ({ after = '' }) =>
      editTables(text, new Set(Object.keys(serversIn(after))), undefined, false).removed,
    move(groups, entry) {
      const names = new Set(groups.flatMap((group) => [...group.names]))
      const servers = isFields(value) ? value.mcp_servers : undefined
      const isWhole = isFields(servers) && Object.keys(servers).every((name) => names.has(name))
      const { edits, removed, added } = editTables(text, names, entry, isWhole)
      const parts = [{ path: ['mcp_servers'], before: removed, after: added }]
      return { text: applyEdits(text, edits), partsOf: () => parts }
    },
    restore({ before, after }) {
      const at = after === '' ? text.length : text.indexOf(after)
      if (at < 0 || (after !== '' && text.indexOf(after, at + 1) >= 0))
        throw new Error('its servers have changed')
      const restored = applyEdits(text, [{ start: at, end: at + after.length, text: before }])
      if (!isDeepStrictEqual(serversOf(restored), { ...serversOf(text, after), ...serversIn(before) }))
        throw new Error('its servers have changed')
      return restored
    },
  }
}

const tomlIn = (text: string) => plain(parseToml(text.replace(/^\uFEFF/, '')))

/** Returns the servers of a text, without those of the part `taken`. */
function serversOf(text: string, taken = ''): Fields {
  const servers = (tomlIn(text) as Fields).mcp_servers
  const other = serversIn(taken)
  const own = isFields(servers) ? Object.entries(servers) : []
  return Object.fromEntries(own.filter(([name]) => !Object.hasOwn(other, name)))
}

/** Returns the servers of a part: separate tables, or keys that were in the table of all servers. */
function serversIn(part: string): Fields {
  const { mcp_servers: servers, ...keys } = tomlIn(part) as Fields
  return { ...keys, ...(isFields(servers) ? servers : {}) }
}

/** Throws the error of the JSON parser if the text is not TOML either. */
function read(text: string): Document {
  try {
    return readJson(text)
  } catch (error) {
    try {
      return readToml(text)
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

/** A document as nested maps, which allow any name. */
type Nested = Map<string, unknown>

function withoutServers(document: unknown, servers: readonly (readonly string[])[]): unknown {
  const copy = nested(document, servers)
  for (const server of servers) objectAt(copy, server.slice(0, -1))?.delete(server.at(-1) ?? '')
  return copy
}

/** Copies the objects that lead to a server as maps; everything else stays as it is. */
function nested(value: unknown, paths: readonly (readonly string[])[]): unknown {
  const rests = new Map<string, (readonly string[])[]>()
  for (const [first, ...rest] of paths) {
    if (first === undefined) continue
    const others = rests.get(first)
    if (others) others.push(rest)
    else rests.set(first, [rest])
  }
  if (!isFields(value) || rests.size === 0) return value
  return new Map(Object.entries(value).map(([key, item]) => [key, nested(item, rests.get(key) ?? [])]))
}

function objectAt(document: unknown, path: readonly string[]): Nested | undefined {
  let found = document
  for (const key of path) found = found instanceof Map ? found.get(key) : undefined
  return found instanceof Map ? (found as Nested) : undefined
}

/** Reverses `nested`. */
function withoutMaps(value: unknown): unknown {
  if (!(value instanceof Map)) return value
  return Object.fromEntries([...value].map(([key, item]) => [key, withoutMaps(item)]))
}

/** Copies with plain objects: those of the TOML parser have no prototype, which would count as a difference. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (!isFields(value) || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]))
}
