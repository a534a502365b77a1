// Splits TOML into statements with their positions in the text, so that single tables can be edited. The TOML parser
// reads the values.
import { parse as parseToml } from 'smol-toml'

/** A header or a key with its value. */
export type Statement = {
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
export function tomlStatements(text: string): Statement[] {
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

const lineAt = (text: string, at: number) => text.slice(0, at).split('\n').length
