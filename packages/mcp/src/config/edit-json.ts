// Edits the members of an object in JSON with comments, and keeps every other byte of the text.
import { type Fields, isFields } from '@toolshelf/core/internal'
import { type Edit, indentAt, lineEnding, removal } from './edits.ts'
import type { JsonMember, MemberSpan, Parsed } from './json.ts'

/** A server entry to write: its name and its keys. */
export type NewEntry = { readonly name: string; readonly fields: Fields }

/** Returns the edits that remove members from the object at `path`, and replace the first by `entry`. */
export function editMembers(
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
export function valueAt(parsed: Parsed, path: readonly string[]): { start: number; end: number } {
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
