// Splits a bash command line into simple commands. Pure. If it cannot determine what bash would do, it reports
// `isCertain: false`, and the permission check asks a person.

/** A redirection from or to a file. */
export type Redirection = { readonly kind: 'read' | 'write'; readonly path: string }

/** A program with its arguments. */
export type SimpleCommand = {
  /** The words as the program receives them: without quotes, leading assignments and redirections. */
  readonly words: readonly string[]
}

/** A parsed command line. */
export type ParsedShell = {
  /** Every simple command, including those inside substitutions. */
  readonly commands: readonly SimpleCommand[]
  readonly redirections: readonly Redirection[]
  /** False if a word is known only at run time, or bash may parse the text differently. */
  readonly isCertain: boolean
}

const MAX_CHARACTERS = 20_000
const MAX_DEPTH = 20
const KEYWORDS = new Set(
  'if then else elif fi for while until do done case esac in select function time coproc [[ ]]'.split(' '),
)

/** Splits a command line as bash would. Never throws. */
export function parseShell(text: string, depth = 0): ParsedShell {
  if (text.length > MAX_CHARACTERS || depth > MAX_DEPTH)
    return { commands: [], redirections: [], isCertain: false }
  const reader = readerOf(text, depth)
  readList(reader, 'end')
  if (reader.documents.length > 0) doubt(reader)
  const { commands, redirections, isCertain } = reader
  return { commands, redirections, isCertain: isCertain && commands.length > 0 }
}

/** The parser's position and findings. */
type Reader = {
  readonly text: string
  at: number
  /** Nesting depth of substitutions and parentheses. */
  depth: number
  isCertain: boolean
  readonly commands: SimpleCommand[]
  readonly redirections: Redirection[]
  /** Here-documents whose bodies begin at the next line. */
  readonly documents: HereDocument[]
}

type HereDocument = { readonly end: string; readonly isQuoted: boolean; readonly hasTabs: boolean }

type Word = {
  readonly text: string
  /** Some of it was quoted or escaped. */
  readonly isQuoted: boolean
}

function readerOf(text: string, depth: number): Reader {
  return { text, at: 0, depth, isCertain: true, commands: [], redirections: [], documents: [] }
}

function doubt(reader: Reader): void {
  reader.isCertain = false
}

function giveUp(reader: Reader): void {
  doubt(reader)
  reader.at = reader.text.length
}

const next = ({ text, at }: Reader, offset = 0): string => text[at + offset] ?? ''

/** Reads commands up to the end of the text, or to the closing parenthesis of this list. */
function readList(reader: Reader, end: 'end' | ')'): void {
  if (reader.depth > MAX_DEPTH) giveUp(reader)
  for (;;) {
    skipBlanks(reader)
    const character = next(reader)
    if (character === '') {
      if (end === ')') doubt(reader)
      return
    }
    if (character === ')') {
      reader.at++
      if (end === ')') return
      doubt(reader)
    } else if (character === '(') {
      // `((` may be arithmetic or two subshells.
      if (next(reader, 1) === '(') doubt(reader)
      reader.at++
      readInner(reader)
    } else if (isSeparator(reader)) {
      reader.at++
      if (character === '\n') readDocuments(reader)
    } else readCommand(reader)
  }
}

/** Reads a list in parentheses, after the opening one. */
function readInner(reader: Reader): void {
  reader.depth++
  readList(reader, ')')
  reader.depth--
}

/** Skips spaces, line continuations and comments. */
function skipBlanks(reader: Reader): void {
  for (;;) {
    const character = next(reader)
    if (character === ' ' || character === '\t') reader.at++
    else if (character === '\\' && next(reader, 1) === '\n') reader.at += 2
    else if (character === '#') while (!/^\n?$/.test(next(reader))) reader.at++
    else return
  }
}

const isSeparator = (reader: Reader) =>
  /[;|\n]/.test(next(reader)) || (next(reader) === '&' && next(reader, 1) !== '>')

const isRedirection = (reader: Reader) =>
  (next(reader) === '&' && next(reader, 1) === '>') || (/[<>]/.test(next(reader)) && next(reader, 1) !== '(')

const ASSIGNMENT = /^[A-Za-z_]\w*(\[[^\]]*\])?\+?=/

function readCommand(reader: Reader): void {
  const words: string[] = []
  for (;;) {
    skipBlanks(reader)
    if (next(reader) === '' || next(reader) === ')' || isSeparator(reader)) break
    if (next(reader) === '(') {
      // A function, a case or an array.
      doubt(reader)
      break
    }
    if (isRedirection(reader)) readRedirection(reader)
    else {
      const start = reader.at
      const word = readWord(reader)
      const source = reader.text.slice(start, reader.at)
      if (source === '') giveUp(reader)
      const isDescriptor = /^\d+$/.test(source) && /[<>]/.test(next(reader))
      if (!isDescriptor && !(words.length === 0 && isPrefix(reader, word, source))) words.push(word.text)
    }
  }
  if (words.length === 0) return
  if (/^$|\s/.test(words[0] ?? '')) doubt(reader)
  reader.commands.push({ words })
}

/** Whether a word precedes a command without being part of it: keywords, braces and assignments. */
function isPrefix(reader: Reader, { text, isQuoted }: Word, source: string): boolean {
  if (!isQuoted && (text === '{' || text === '}' || text === '!')) return true
  const isSpecial = (!isQuoted && KEYWORDS.has(text)) || ASSIGNMENT.test(source)
  if (isSpecial) doubt(reader)
  return isSpecial
}

function readRedirection(reader: Reader): void {
  const [operator = ''] =
    /^(?:&>>|&>|<<<|<<-|<<|<>|<&|>&|>>|>\||<|>)/.exec(reader.text.slice(reader.at)) ?? []
  reader.at += operator.length
  skipBlanks(reader)
  const { text: target, isQuoted } = readWord(reader)
  const isMissing = target === '' && !isQuoted
  const isDescriptor = /^[<>]&$/.test(operator)
  // After `>&`, bash removes quotes twice.
  if (isMissing || (isDescriptor && isQuoted)) doubt(reader)
  const isDuplicate = isDescriptor && /^(\d+|-)$/.test(target)
  if (isMissing || isDuplicate || operator === '<<<') return
  if (operator.startsWith('<<')) reader.documents.push({ end: target, isQuoted, hasTabs: operator === '<<-' })
  else reader.redirections.push({ kind: /^<&?$/.test(operator) ? 'read' : 'write', path: target })
}

/** Reads the bodies of here-documents whose operators were on the line that ended. */
function readDocuments(reader: Reader): void {
  const { text } = reader
  for (const { end, isQuoted, hasTabs } of reader.documents.splice(0)) {
    const start = reader.at
    let finish = start
    let isClosed = false
    while (reader.at < text.length && !isClosed) {
      const lineEnd = text.indexOf('\n', reader.at)
      finish = reader.at
      reader.at = lineEnd < 0 ? text.length : lineEnd + 1
      const line = text.slice(finish, lineEnd < 0 ? text.length : lineEnd)
      isClosed = (hasTabs ? line.replace(/^\t+/, '') : line) === end
    }
    if (!isClosed) doubt(reader)
    const body = text.slice(start, isClosed ? finish : reader.at)
    if (!isQuoted && /[$`\\]/.test(body)) readExpansions(reader, body)
  }
}

/** Reads the commands of substitutions in text that is not code. */
function readExpansions(reader: Reader, text: string): void {
  doubt(reader)
  if (reader.depth >= MAX_DEPTH) return
  const inner = readerOf(text, reader.depth + 1)
  while (inner.at < text.length) {
    if (next(inner) === '\\') inner.at += 2
    else if (next(inner) === '$') readDollar(inner, 'quotes')
    else if (next(inner) === '`') readBackticks(inner)
    else inner.at++
  }
  reader.commands.push(...inner.commands)
  reader.redirections.push(...inner.redirections)
}

function readWord(reader: Reader): Word {
  const start = reader.at
  let word = ''
  let isQuoted = false
  for (;;) {
    const character = next(reader)
    if (character === '' || /[ \t\n;&|()]/.test(character)) break
    if (/[<>]/.test(character) && next(reader, 1) !== '(') break
    if (character === "'" || character === '"' || /^\$['"]/.test(character + next(reader, 1))) {
      isQuoted = true
      word += readQuoted(reader)
    } else if (character === '\\') {
      const escaped = next(reader, 1)
      // A line continuation may join two words, or split one.
      if (escaped === '' || escaped === '\n') doubt(reader)
      else isQuoted = true
      word += escaped.replace('\n', '')
      reader.at += 2
    } else word += readUnquoted(reader, start)
  }
  return { text: word, isQuoted }
}

/** Reads an unquoted character, or the construct that begins with it. */
function readUnquoted(reader: Reader, start: number): string {
  const character = next(reader)
  if (character === '$') return readDollar(reader, 'word')
  if (character === '`') return readBackticks(reader)
  if (character === '<' || character === '>') {
    // Process substitution: the program receives the name of a pipe.
    doubt(reader)
    reader.at += 2
    readInner(reader)
    return '/dev/fd/?'
  }
  if (isExpanded(reader, start)) doubt(reader)
  reader.at++
  return character
}

/** Whether bash would expand the character: patterns, braces, `~`; unusual white space may end a word in some locales. */
function isExpanded({ text, at }: Reader, start: number): boolean {
  const character = text[at] ?? ''
  // `~name` is another user's home, `~+` a folder that only the shell knows.
  if (character === '~' && at === start) return !/^~(?=[/\s;&|<>()]|$)/.test(text.slice(at, at + 2))
  // `{` and `}` as words of their own, or the `{}` of find.
  const isBare = at === start && /^(\{\}|\{)(?=[\s;&|()]|$)/.test(text.slice(at, at + 3))
  if (character === '{') return !isBare
  return /[*?[\p{Cc}\p{Zs}\u2028\u2029]/u.test(character)
}

function readQuoted(reader: Reader): string {
  if (next(reader) === '"') return readDoubleQuoted(reader)
  if (next(reader) === '$' && next(reader, 1) === "'") return readAnsiQuoted(reader)
  if (next(reader) === '$') {
    // Bash translates `$"…"` by the locale.
    doubt(reader)
    reader.at++
    return readDoubleQuoted(reader)
  }
  const end = reader.text.indexOf("'", reader.at + 1)
  const value = reader.text.slice(reader.at + 1, end)
  if (end < 0) giveUp(reader)
  else reader.at = end + 1
  return value
}

function readDoubleQuoted(reader: Reader): string {
  let value = ''
  reader.at++
  for (;;) {
    const character = next(reader)
    if (character === '') {
      doubt(reader)
      return value
    }
    if (character === '"') {
      reader.at++
      return value
    }
    if (character === '\\') {
      const escaped = next(reader, 1)
      if (escaped !== '\n') value += /[$`"\\]/.test(escaped) ? escaped : `\\${escaped}`
      reader.at += 2
    } else if (character === '$') value += readDollar(reader, 'quotes')
    else if (character === '`') value += readBackticks(reader)
    else {
      value += character
      reader.at++
    }
  }
}

/** Reads a substitution, a variable, or a plain `$`. Inside quotes, `$` does not begin a quoted string. */
function readDollar(reader: Reader, within: 'word' | 'quotes'): string {
  const start = reader.at
  const following = next(reader, 1)
  if (following === '(') {
    doubt(reader)
    reader.at += 2
    readInner(reader)
  } else if (following === '{') readBraces(reader)
  else if (/[A-Za-z0-9_?$!@*#[-]/.test(following)) {
    doubt(reader)
    reader.at += 2
    while (/\w/.test(next(reader))) reader.at++
  } else {
    // A line continuation may separate the `$` from what follows.
    if (following === '\\' && (within === 'word' || next(reader, 2) === '\n')) doubt(reader)
    reader.at++
  }
  return reader.text.slice(start, reader.at)
}

/** Reads `${…}`, which may contain commands. */
function readBraces(reader: Reader): void {
  const start = reader.at + 2
  let open = 1
  reader.at = start
  while (reader.at < reader.text.length && open > 0) {
    const character = next(reader)
    if (character === '{') open++
    if (character === '}') open--
    reader.at += character === '\\' ? 2 : 1
  }
  readExpansions(reader, reader.text.slice(start, reader.at - 1))
}

function readBackticks(reader: Reader): string {
  doubt(reader)
  const start = reader.at + 1
  reader.at = start
  while (!/^`?$/.test(next(reader))) reader.at += next(reader) === '\\' ? 2 : 1
  const inner = reader.text.slice(start, reader.at).replace(/\\([$`\\"])/g, '$1')
  const found = parseShell(inner, reader.depth + 1)
  reader.commands.push(...found.commands)
  reader.redirections.push(...found.redirections)
  reader.at++
  return '`'
}

const ANSI_QUOTED = /\$'((?:[^'\\]|\\[\s\S])*)'/y
const ODD_ESCAPE = /\\[^abeEfnrtv\\'"?xuU0-7]|\\x(?![0-9a-f])|\\[uU](?![0-9a-f])/i
const ESCAPE = /\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([\s\S]))/g
const LETTERS: { readonly [letter: string]: string } = {
  a: '\u0007',
  b: '\b',
  e: '\u001b',
  E: '\u001b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '?': '?',
}

/** Reads `$'…'` with its escapes. */
function readAnsiQuoted(reader: Reader): string {
  ANSI_QUOTED.lastIndex = reader.at
  const found = ANSI_QUOTED.exec(reader.text)
  if (!found) {
    giveUp(reader)
    return ''
  }
  const [quoted, body = ''] = found
  reader.at += quoted.length
  if (ODD_ESCAPE.test(body)) doubt(reader)
  return body.replace(ESCAPE, (whole, octal, byte, short, long, letter) => {
    if (letter !== undefined) return LETTERS[letter] ?? whole
    const code = Number.parseInt(octal ?? byte ?? short ?? long, octal ? 8 : 16)
    // A zero byte ends the string, and beyond ASCII the locale decides.
    if (code === 0 || code > 0x7e) doubt(reader)
    return code > 0 && code <= 0x7e ? String.fromCharCode(code) : '?'
  })
}
