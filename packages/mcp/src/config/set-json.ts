// Sets one value deep in JSON with comments: adds the objects that are missing on the way, and keeps every other byte of
// the text.
import { isFields } from '@toolshelf/core/internal'
import { onOneLine } from './edit-json.ts'
import { indentAt, lineEnding } from './edits.ts'
import { type MemberSpan, parseJson } from './json.ts'

/** Returns the text with the value at `path`. Throws an error that says what is wrong with the text. */
export function setJsonValue(text: string, path: readonly string[], value: unknown): string {
  const { value: root, spans } = parseJson(text)
  let found: unknown = root
  for (const [depth, key] of path.entries()) {
    const span = isFields(found) ? spans.get(found) : undefined
    if (!isFields(found) || !span) throw new Error(`it has no object at ${path.slice(0, depth).join('.')}`)
    const member = span.members.findLast(({ name }) => name === key)
    const rest = path.slice(depth + 1)
    if (!member) return inserted(text, span, key, nested(rest, value))
    const isLast = rest.length === 0
    if (isLast) return text.slice(0, member.value) + onOneLine(value) + text.slice(member.end)
    found = found[key]
  }
  throw new Error('there is no name to set')
}

function nested(path: readonly string[], value: unknown): unknown {
  return path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value)
}

/** Writes a member like the existing ones: each on its own line, or all on one. */
function inserted(text: string, span: MemberSpan, key: string, value: unknown): string {
  const { open, close, end, isEmpty, hasComma, members } = span
  const name = `${JSON.stringify(key)}: `
  const comma = isEmpty || hasComma ? '' : ','
  const between = text.slice(end, close).trimEnd()
  const head = `${text.slice(0, end)}${comma}${between}`
  const isOneLine = !text.slice(open, close).includes('\n') && (!isEmpty || !text.includes('\n'))
  if (isOneLine) return `${head} ${name}${onOneLine(value)} ${text.slice(close)}`
  const outer = indentAt(text, open)
  const first = members[0]
  const own = first ? indentAt(text, first.start) : ''
  const unit = own.length > outer.length && own.startsWith(outer) ? own.slice(outer.length) : unitOf(text)
  const indent = first && own.length > outer.length ? own : outer + unit
  const lines = `${indent}${name}${JSON.stringify(value, null, unit).replaceAll('\n', `\n${indent}`)}`
  return `${head}${`\n${lines}\n${outer}`.replaceAll('\n', lineEnding(text))}${text.slice(close)}`
}

/** Returns the indentation of the first indented line. */
function unitOf(text: string): string {
  return /\n([ \t]+)\S/.exec(text)?.[1] ?? '  '
}
