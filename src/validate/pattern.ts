// Regular expressions from untrusted schemas, matched in time linear in the text whatever the pattern (RE2).
import { RE2JS } from 're2js'

/** A pattern ready to test texts; `size` times the text's length bounds the work of one test. */
export type CompiledPattern = { readonly size: number; readonly test: (text: string) => boolean }

const LONGEST_PATTERN = 2_000
const MOST_INSTRUCTIONS = 5_000

/** Undefined: not a JavaScript pattern, too large, or one with look-around or back-references. */
export function compilePattern(source: string): CompiledPattern | undefined {
  if (source.length > LONGEST_PATTERN) return undefined
  try {
    new RegExp(source, 'u')
    const compiled = RE2JS.compile(toRe2(source))
    const size = compiled.programSize()
    return size > MOST_INSTRUCTIONS ? undefined : { size, test: (text) => compiled.matcher(text).find() }
  } catch {
    return undefined
  }
}

/** Whether JavaScript's own engine is fast enough too: at most one group, one quantifier, and not on the group. */
export function isPlainPattern(source: string): boolean {
  const plain = source.replaceAll('(?:', '(')
  const groups = plain.split('(').length - 1
  const quantifiers = plain.split(/[*+?{]/).length - 1
  const isSimple = groups <= 1 && quantifiers <= 1 && !/\(\?|\)[*+?{]/.test(plain)
  return isSimple && compilePattern(source) !== undefined
}

/** The spellings in which the two differ: characters by number or control letter, and escaped slashes. */
function toRe2(source: string): string {
  const escapes = /\\u\{([0-9a-f]+)\}|\\u([0-9a-f]{4})|\\c([a-z])|\\([\s\S])/gi
  return source.replace(escapes, (whole, long, short, control, other) => {
    if (long ?? short) return `\\x{${long ?? short}}`
    if (control) return `\\x{${(control.toUpperCase().charCodeAt(0) - 64).toString(16)}}`
    return other === '/' ? '/' : whole
  })
}
