// Edits servers in the text of a file and keeps every other byte: moves them out and puts one entry in their place, and back;
// adds, removes and sets one. Parses and compares what it moved, so that a text that cannot be edited safely is refused.
import { isDeepStrictEqual } from 'node:util'
import { type Fields, fieldsOf, isFields } from '@toolshelf/core/internal'
import { parse as parseToml } from 'smol-toml'
import { type JsonMember, lineAt, type MemberSpan, type Parsed, parseJson } from './json.ts'

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

type NamedFields = readonly (readonly [name: string, fields: Fields])[]

/** Returns the names of the servers in a text. Throws an error that says what is wrong with it. */
export function serverNames(text: string): readonly string[] {
  const { value } = parseJson(text)
  const servers = isFields(value) ? value.mcpServers : undefined
  return isFields(servers) ? Object.keys(servers).map((name) => name.trim()) : []
}

/** Returns the text with the servers added. Throws an error that says what is wrong with it. */
export function addServers(text: string, servers: NamedFields): string {
  const { value, spans } = parseJson(text)
  if (!isFields(value)) throw new Error('it is not a JSON object')
  const { mcpServers } = value
  const added = (object: Fields, members: string, depth: number) =>
    insert(text, spans.get(object)!, `\n${indent(depth)}${members}\n${indent(depth - 1)}`)
  if (mcpServers === undefined)
    return added(value, `"mcpServers": ${asJson(Object.fromEntries(servers), 1)}`, 1)
  if (!isFields(mcpServers)) throw new Error('"mcpServers" is not an object')
  const members = servers.map(([name, fields]) => `${JSON.stringify(name)}: ${asJson(fields, 2)}`)
  return members.length === 0 ? text : added(mcpServers, members.join(`,\n${indent(2)}`), 2)
}

/** Returns the text without a server. Throws an error that says what is wrong with it. */
export function removeServer(text: string, name: string): string {
  const { value } = parseJson(text)
  const servers = isFields(value) && isFields(value.mcpServers) ? Object.keys(value.mcpServers) : []
  const paths = servers.filter((key) => key.trim() === name).map((key) => ['mcpServers', key])
  return paths.length === 0 ? text : moveServers(text, paths, undefined).text
}

/** Inserts text after the last member, and after a comment that follows it. */
function insert(text: string, { open, members, close }: MemberSpan, added: string): string {
  const last = members.at(-1)
  const end = last?.end ?? open + 1
  const comma = last && last.comma === undefined ? ',' : ''
  const head = `${text.slice(0, end)}${comma}${text.slice(end, close).trimEnd()}`
  return `${head}${added.replaceAll('\n', lineEnding(text))}${text.slice(close)}`
}

const indent = (depth: number) => '  '.repeat(depth)

function asJson(value: unknown, depth: number): string {
  return JSON.stringify(value, null, 2).replaceAll('\n', `\n${indent(depth)}`)
}

/** A server entry to write: its name and its keys. */
export type NewEntry = { readonly name: string; readonly fields: Fields }

/** Returns the edits that remove members from the object at `path`, and replace the first by `entry`. */
function editMembers(
  text: string,
  parsed: Parsed,
  path: readonly string[],
  names: ReadonlySet<string>,
  entry: NewEntry | undefined,
): Edit[] {
  const { members } = spanAt(parsed, path)
  const [first, ...others] = members.filter(({ name }) => names.has(name))
  if (!first) return []
  const removed = new Set(entry ? others : [first, ...others])
  const kept = members.filter((member) => !removed.has(member))
  return [
    ...(entry ? [{ start: first.start, end: first.end, text: written(text, first, entry) }] : []),
    ...[...removed].flatMap((member) => withoutMember(text, member)),
    ...withoutLastComma(members.at(-1), kept.at(-1)),
  ]
}

/** Returns the offsets of the object at `path`. Throws if there is none. */
function valueAt(parsed: Parsed, path: readonly string[]): { start: number; end: number } {
  const { open, close } = spanAt(parsed, path)
  return { start: open, end: close + 1 }
}

function spanAt({ value, spans }: Parsed, path: readonly string[]): MemberSpan {
  let found = value
  for (const key of path) found = isFields(found) && Object.hasOwn(found, key) ? found[key] : undefined
  const span = isFields(found) ? spans.get(found) : undefined
  if (!span) throw new Error(`it has no object at ${path.join('.')}`)
  return span
}

/** Removes a member; keeps a comment between it and its comma. */
function withoutMember(text: string, { start, end, comma }: JsonMember): Edit[] {
  if (comma === undefined) return [removal(text, start, end)]
  if (text.slice(end, comma).trim() === '') return [removal(text, start, comma + 1)]
  return [removal(text, start, end), { start: comma, end: comma + 1, text: '' }]
}

/** Removes the comma of the member that is last now, if the one that was last had none. */
function withoutLastComma(last: JsonMember | undefined, kept: JsonMember | undefined): Edit[] {
  if (last?.comma !== undefined || kept?.comma === undefined) return []
  return [{ start: kept.comma, end: kept.comma + 1, text: '' }]
}

/** Writes an entry with the indentation of the member that it replaces, or on one line if that one was. */
function written(text: string, { start, value, end }: JsonMember, { name, fields }: NewEntry): string {
  const old = text.slice(value, end)
  const key = `${JSON.stringify(name)}: `
  if (!old.includes('\n')) return key + onOneLine(fields)
  const indent = indentAt(text, start)
  const inner = /\n([ \t]*)\S/.exec(old)?.[1] ?? ''
  const unit = inner.length > indent.length && inner.startsWith(indent) ? inner.slice(indent.length) : '  '
  const ending = lineEnding(old)
  return key + JSON.stringify(fields, null, unit).replaceAll('\n', ending + indent)
}

/** Returns JSON on one line, with spaces between its parts. */
export function onOneLine(value: unknown): string {
  return JSON.stringify(value, null, 1).replace(/\n */g, ' ')
}

/** Returns the text with the value at `path`. Throws an error that says what is wrong with the text. */
export function setJsonValue(text: string, path: readonly string[], value: unknown): string {
  const { value: root, spans } = parseJson(text)
  let found: unknown = root
  for (const [depth, key] of path.entries()) {
    const span = isFields(found) ? spans.get(found) : undefined
    if (!isFields(found) || !span) throw new Error(`it has no object at ${path.slice(0, depth).join('.')}`)
    const member = span.members.findLast(({ name }) => name === key)
    const rest = path.slice(depth + 1)
    if (!member) return inserted(text, span, key, wrapped(rest, value))
    const isLast = rest.length === 0
    if (isLast) return text.slice(0, member.value) + onOneLine(value) + text.slice(member.end)
    found = found[key]
  }
  throw new Error('there is no name to set')
}

function wrapped(path: readonly string[], value: unknown): unknown {
  return path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value)
}

/** Writes a member like the existing ones: each on its own line, or all on one. */
function inserted(text: string, span: MemberSpan, key: string, value: unknown): string {
  const { open, close, members } = span
  const [first] = members
  const name = `${JSON.stringify(key)}: `
  const isOneLine = !text.slice(open, close).includes('\n') && (first || !text.includes('\n'))
  if (isOneLine) return insert(text, span, ` ${name}${onOneLine(value)} `)
  const outer = indentAt(text, open)
  const own = first ? indentAt(text, first.start) : ''
  const unit = own.length > outer.length && own.startsWith(outer) ? own.slice(outer.length) : unitOf(text)
  const indent = first && own.length > outer.length ? own : outer + unit
  const lines = `${indent}${name}${JSON.stringify(value, null, unit).replaceAll('\n', `\n${indent}`)}`
  return insert(text, span, `\n${lines}\n${outer}`)
}

/** Returns the indentation of the first indented line. */
function unitOf(text: string): string {
  return /\n([ \t]+)\S/.exec(text)?.[1] ?? '  '
}

const KEY = 'mcp_servers'

/** The removed text, and the edits that remove it and put `entry` in its place. */
type TomlEdits = { readonly edits: readonly Edit[]; readonly removed: string; readonly added: string }

/** Returns the edits; `isWhole` if all servers of the file move, so that the table of all of them may be removed, too. */
function editTables(
  text: string,
  names: ReadonlySet<string>,
  entry: NewEntry | undefined,
  isWhole: boolean,
): TomlEdits {
  const statements = tomlStatements(text)
  const goes = ({ path, isHeader }: Statement) =>
    path[0] === KEY && (names.has(path[1] ?? '') || (isWhole && !isHeader && path.length === 1))
  const regions = regionsOf(text, statements, goes)
  const first = statements.find(goes)
  const [place] = regions
  if (!first || !place) return { edits: [], removed: '', added: '' }
  const added = entry ? tableOf(entry, first, lineEnding(text)) : ''
  const edits = regions.map(({ start, end }) => ({ start, end, text: start === place.start ? added : '' }))
  return { edits, removed: regions.map(({ start, end }) => text.slice(start, end)).join(''), added }
}

type Region = { start: number; end: number }

/** Returns the regions to remove. Comments within a table are removed with it; those in front of a header stay. */
function regionsOf(
  text: string,
  statements: readonly Statement[],
  goes: (statement: Statement) => boolean,
): Region[] {
  const regions: Region[] = []
  for (const [index, statement] of statements.entries()) {
    if (!goes(statement)) continue
    const last = regions.at(-1)
    const previous = statements[index - 1]
    const gap = text.slice(last?.end ?? 0, statement.start)
    const isJoined = previous !== undefined && goes(previous) && (!statement.isHeader || gap.trim() === '')
    if (last && isJoined) last.end = statement.end
    else regions.push({ start: statement.start, end: statement.end })
  }
  return regions
}

/** Writes an entry as a table, or as a key if a header would capture the keys that follow. */
function tableOf({ name, fields }: NewEntry, first: Statement, ending: string): string {
  const key = keyOf(name)
  const pairs = Object.entries(fields).map(([field, value]) => `${keyOf(field)} = ${tomlValue(value)}`)
  if (first.isHeader) return [`[${KEY}.${key}]`, ...pairs, ''].join(ending)
  const prefix = first.table.length === 0 ? `${KEY}.` : ''
  return `${prefix}${key} = { ${pairs.join(', ')} }${ending}`
}

function keyOf(name: string): string {
  return /^[\w-]+$/.test(name) && !/[^\x20-\x7e]/.test(name) ? name : quoted(name)
}

/** Writes a value of an entry (text, flag or list of texts), which TOML spells like JSON. */
function tomlValue(value: unknown): string {
  return typeof value === 'string' ? quoted(value) : onOneLine(value).replaceAll('\u007f', '\\u007f')
}

const quoted = (text: string) => JSON.stringify(text).replaceAll('\u007f', '\\u007f')

/** A header or a key with its value. */
type Statement = {
  /** The keys of the table that contains it. */
  readonly table: readonly string[]
  /** The table's keys and its own. */
  readonly path: readonly string[]
  readonly isHeader: boolean
  /** Offset of the start of its line. */
  readonly start: number
  /** Offset after its last line. */
  readonly end: number
}

const blank = /(?:[ \t\r\n\uFEFF]|#[^\n]*)*/y
const headerOpen = /\[\[?[ \t]*/y
const headerClose = /[ \t]*\]\]?/y
const keyPart = /[\w-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*'/y
const dot = /[ \t]*\.[ \t]*/y
const equals = /[ \t]*=/y
const restOfLine = /[ \t]*(?:#[^\n]*)?(?:\r?\n|$)/y
const token =
  /"""(?:\\[\s\S]|[^\\])*?"{3,5}|'''[\s\S]*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|#[^\n]*|[[{]|[\]}]|\r?\n|[^"'#[\]{}\r\n]+|[\s\S]/y

/** Returns the statements; throws an error that names the line if the text is not valid TOML. */
function tomlStatements(text: string): Statement[] {
  const statements: Statement[] = []
  let at = 0
  let table: readonly string[] = []
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0]
    at += found?.length ?? 0
    return found
  }
  const takeKeys = (): string[] => {
    const keys: string[] = []
    do {
      const part = take(keyPart)
      if (part === undefined) throw new Error(`line ${lineAt(text, at)}: a key is missing`)
      keys.push(/^["']/.test(part) ? String(parseToml(`key = ${part}`).key) : part)
    } while (take(dot) !== undefined)
    return keys
  }
  const takeValue = () => {
    for (let depth = 0; at < text.length; ) {
      const found = take(token) ?? ''
      if (/^[[{]$/.test(found)) depth += 1
      else if (/^[\]}]$/.test(found)) depth -= 1
      else if (depth <= 0 && /\n$/.test(found) && found.length <= 2) return
    }
  }
  for (take(blank); at < text.length; take(blank)) {
    const start = Math.max(text.lastIndexOf('\n', at - 1) + 1, text.startsWith('\uFEFF') ? 1 : 0)
    const isHeader = take(headerOpen) !== undefined
    const keys = takeKeys()
    if (isHeader) {
      if (take(headerClose) === undefined) throw new Error(`line ${lineAt(text, at)}: a ] is missing`)
      take(restOfLine)
      table = keys
      statements.push({ table, path: keys, isHeader, start, end: at })
      continue
    }
    if (take(equals) === undefined) throw new Error(`line ${lineAt(text, at)}: a = is missing`)
    takeValue()
    statements.push({ table, path: [...table, ...keys], isHeader, start, end: at })
  }
  return statements
}

/** The replacement of a range of a text. */
type Edit = { readonly start: number; readonly end: number; readonly text: string }

/** Returns the text with all edits applied. The edits must not overlap. */
function applyEdits(text: string, edits: readonly Edit[]): string {
  let rest = ''
  let at = 0
  for (const edit of [...edits].sort((first, second) => first.start - second.start)) {
    rest += text.slice(at, edit.start) + edit.text
    at = edit.end
  }
  return rest + text.slice(at)
}

/** Removes a range, with its line if nothing else is on it, else with the spaces in front of it. */
function removal(text: string, start: number, end: number): Edit {
  const front = start - spacesBefore(text, start)
  const isFirst = front === 0 || text[front - 1] === '\n'
  const lineEnd = /[ \t]*(\r?\n|$)/y
  lineEnd.lastIndex = end
  const rest = lineEnd.exec(text)
  if (isFirst && rest) return { start: front, end: end + rest[0].length, text: '' }
  if (isFirst) return { start, end: end + spacesAt(text, end), text: '' }
  return { start: front, end, text: '' }
}

/** Counts the spaces in front of an offset. Looks at no more than those: all servers may be on one long line. */
function spacesBefore(text: string, at: number): number {
  let start = at
  while (start > 0 && (text[start - 1] === ' ' || text[start - 1] === '\t')) start--
  return at - start
}

function spacesAt(text: string, at: number): number {
  const spaces = /[ \t]*/y
  spaces.lastIndex = at
  return spaces.exec(text)?.[0].length ?? 0
}

function lineEnding(text: string): '\r\n' | '\n' {
  return text.includes('\r\n') ? '\r\n' : '\n'
}

/** Returns the whitespace that the line of an offset starts with. */
function indentAt(text: string, at: number): string {
  const start = text.lastIndexOf('\n', at - 1) + 1
  return /^[ \t]*/.exec(text.slice(start, at))?.[0] ?? ''
}
