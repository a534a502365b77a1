// Edits the servers of Codex's TOML file, and keeps every other byte of the text.
import { type NewEntry, onOneLine } from './edit-json.ts'
import { type Edit, lineEnding } from './edits.ts'
import { type Statement, tomlStatements } from './toml-statements.ts'

const KEY = 'mcp_servers'

/** The removed text, and the edits that remove it and put `entry` in its place. */
type TomlEdits = { readonly edits: readonly Edit[]; readonly removed: string; readonly added: string }

/**
 * Returns the edits; `isWhole` if all servers of the file move, so that the table of all of them may be removed, too.
 */
export function editTables(
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
  const added = entry ? written(entry, first, lineEnding(text)) : ''
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
function written({ name, fields }: NewEntry, first: Statement, ending: string): string {
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
