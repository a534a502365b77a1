// Reads shell lines of which every shell makes the same: one program with plain words. Only these can be compared with
// rules; everything else is for a person to decide. Pure.
import { matchesAny } from '@toolshelf/core/internal'

export type PlainCommand = {
  readonly words: readonly string[]
  /** The words with single spaces; quoted only where they need it. */
  readonly text: string
}

const MAX_LENGTH = 4000
const MAX_WORDS = 500
/** Shells that read these lines like bash. */
const SHELLS = /(^|[\\/])(bash|sh|dash|ash)(\.exe)?$/i
const CHARACTER = /[\w./:=@%+,-]/.source
/** Neither quotes inside, nor what `find -exec` or a shell in another program would make something of. */
const QUOTED = /'[^'"$`\\~;{}\p{C}\p{Zl}\p{Zp}]*'|"[^"$`\\~;{}\p{C}\p{Zl}\p{Zp}]*"/u.source
const WORD = `(?:${CHARACTER}|${QUOTED})+`
/** In front neither an assignment (`X=1 git status` is not the program `git`) nor an option of the shell itself. */
const LINE = new RegExp(`^(?![-+]|\\S*=)${CHARACTER}+(?:[ \\t]+${WORD})*$`, 'u')
const WORDS = new RegExp(WORD, 'gu')
const NEEDS_NO_QUOTES = new RegExp(`^${CHARACTER}+$`)

/** Returns the words of a plain simple command; undefined for any other line, and for shells that are not like bash. */
export function readPlain(line: string, shell: string): PlainCommand | undefined {
  const trimmed = line.replace(/^[ \t\n]+|[ \t\n]+$/g, '')
  if (trimmed.length > MAX_LENGTH || !SHELLS.test(shell) || !LINE.test(trimmed)) return undefined
  const words = (trimmed.match(WORDS) ?? []).map((word) => word.replace(/'([^']*)'|"([^"]*)"/g, '$1$2'))
  if (words.length > MAX_WORDS) return undefined
  return { words, text: words.map((word) => (NEEDS_NO_QUOTES.test(word) ? word : quoted(word))).join(' ') }
}

/** Returns whether an allow rule's pattern covers a command. */
export function coversCommand(pattern: string, { text }: PlainCommand): boolean {
  return matchesAny([withSingleQuotes(pattern)], text)
}

/** Returns whether the pattern of a deny or ask rule names a command, in any case and folder. */
export function namesCommand(pattern: string, { text }: PlainCommand): boolean {
  const wanted = withSingleQuotes(pattern).toLowerCase()
  const lower = text.toLowerCase()
  return matchesAny([wanted], lower) || matchesAny([wanted], lower.replace(/^\S*\//, ''))
}

/** Returns whether a command may lead to what the pattern of a deny or ask rule names, such as `env` and `bash -c` do. */
export function mayLeadTo(pattern: string, { text }: PlainCommand): boolean {
  const flat = (one: string) => one.toLowerCase().replace(/[^\w.*-]+/g, ' ')
  return matchesAny([`* ${flat(pattern).trim()}`], ` ${flat(text).trim()}`)
}

function quoted(word: string): string {
  return word.includes("'") ? `"${word}"` : `'${word}'`
}

function withSingleQuotes(pattern: string): string {
  return pattern.replace(/"([^"']*)"/g, "'$1'")
}
