// Parses JSON with comments and trailing commas. Errors give line and column and never quote the text, which may
// contain secrets.

/** Where a member of an object is in the text. */
export type JsonMember = {
  readonly name: string
  /** Offset of the name. */
  readonly start: number
  /** Offset of the value. */
  readonly value: number
  /** Offset after the value. */
  readonly end: number
  /** Offset of the comma that follows it. */
  readonly comma: number | undefined
}

/** Where an object and its members are in the text; used to edit a member and keep everything else. */
export type MemberSpan = {
  /** Offset of the opening bracket. */
  readonly open: number
  readonly members: readonly JsonMember[]
  /** Offset of the closing bracket. */
  readonly close: number
}

/** A parsed value, and where its objects are in the text. */
export type Parsed = { readonly value: unknown; readonly spans: ReadonlyMap<object, MemberSpan> }

type Cursor = {
  readonly text: string
  at: number
  depth: number
  readonly spans: Map<object, MemberSpan>
}

const MAX_DEPTH = 500

const space = /(?:\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y
const quoted = /"[^"\\\n]*(?:\\.[^"\\\n]*)*"/y
const bare = /[-+.\w]+/y

/** Parses a text; throws an error that gives the position and what is wrong there. */
export function parseJson(text: string): Parsed {
  const cursor: Cursor = { text, at: 0, depth: 0, spans: new Map() }
  const value = readValue(cursor)
  skipSpace(cursor)
  if (cursor.at < text.length) fail(cursor, 'unexpected text after the end')
  return { value, spans: cursor.spans }
}

function readValue(cursor: Cursor): unknown {
  skipSpace(cursor)
  const first = cursor.text[cursor.at]
  if (first === '{' || first === '[') return readNested(cursor, first)
  if (first === '"') return readToken(cursor, quoted, 'a string is not closed or has an invalid character')
  return readToken(cursor, bare, first === undefined ? 'the file ends too early' : 'unexpected character')
}

function readNested(cursor: Cursor, bracket: '{' | '['): unknown {
  cursor.depth += 1
  if (cursor.depth > MAX_DEPTH) fail(cursor, `it is nested more than ${MAX_DEPTH} levels deep`)
  const closing = bracket === '{' ? '}' : ']'
  const open = cursor.at++
  const values: unknown[] = []
  const members: JsonMember[] = []
  for (let hasComma = true; ; ) {
    skipSpace(cursor)
    if (cursor.text[cursor.at] === closing) break
    if (!hasComma) fail(cursor, `a comma or ${closing} is missing`)
    const start = cursor.at
    const name = bracket === '{' ? readName(cursor) : ''
    skipSpace(cursor)
    const value = cursor.at
    values.push(readValue(cursor))
    const end = cursor.at
    skipSpace(cursor)
    hasComma = cursor.text[cursor.at] === ','
    if (bracket === '{') members.push({ name, start, value, end, comma: hasComma ? cursor.at : undefined })
    if (hasComma) cursor.at += 1
  }
  const close = cursor.at++
  cursor.depth -= 1
  if (bracket === '[') return values
  const value = Object.fromEntries(members.map(({ name }, index) => [name, values[index]]))
  cursor.spans.set(value, { open, members, close })
  return value
}

function readName(cursor: Cursor): string {
  const name = readToken(cursor, quoted, 'a name in double quotes, or }, is missing')
  skipSpace(cursor)
  if (cursor.text[cursor.at] !== ':') fail(cursor, 'a colon is missing')
  cursor.at += 1
  return String(name)
}

function readToken(cursor: Cursor, pattern: RegExp, problem: string): unknown {
  pattern.lastIndex = cursor.at
  const token = pattern.exec(cursor.text)?.[0]
  if (token === undefined) return fail(cursor, problem)
  try {
    const value: unknown = JSON.parse(token)
    cursor.at += token.length
    return value
  } catch {
    return fail(cursor, problem)
  }
}

function skipSpace(cursor: Cursor): void {
  space.lastIndex = cursor.at
  cursor.at += space.exec(cursor.text)?.[0].length ?? 0
  if (cursor.text.startsWith('/*', cursor.at)) fail(cursor, 'a comment is not closed')
}

/** Returns the number of the line of an offset; the first is 1. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}

function fail({ text, at }: Cursor, problem: string): never {
  const column = at - text.lastIndexOf('\n', at - 1)
  throw new Error(`line ${lineAt(text, at)}, column ${at === 0 ? 1 : column}: ${problem}`)
}
