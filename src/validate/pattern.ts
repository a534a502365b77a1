// Compiles regular expressions from untrusted schemas with RE2, so that matching takes linear time for any pattern.
// Implements V1.
import { RE2JS } from 're2js'

/** A compiled pattern; one test costs at most `size` times the text's length. */
export type CompiledPattern = { readonly size: number; readonly test: (text: string) => boolean }

const MAX_PATTERN_LENGTH = 2_000
const MAX_INSTRUCTIONS = 5_000

/** Returns undefined for an invalid or too large pattern, and for look-around or back-references. */
export function compilePattern(source: string): CompiledPattern | undefined {
  if (source.length > MAX_PATTERN_LENGTH) return undefined
  try {
    new RegExp(source, 'u')
    const compiled = RE2JS.compile(toRe2(source))
    const size = compiled.programSize()
    return size > MAX_INSTRUCTIONS ? undefined : { size, test: (text) => compiled.matcher(text).find() }
  } catch {
    return undefined
  }
}

/**
 * Returns whether JavaScript's own engine is fast for a pattern too: at most one group and one quantifier, not on the
 * group.
 */
export function isPlainPattern(source: string): boolean {
  const plain = source.replaceAll('(?:', '(')
  const groups = plain.split('(').length - 1
  const quantifiers = plain.split(/[*+?{]/).length - 1
  const isSimple = groups <= 1 && quantifiers <= 1 && !/\(\?|\)[*+?{]/.test(plain)
  return isSimple && compilePattern(source) !== undefined
}

/** Translates JavaScript syntax that RE2 spells differently: numeric and control escapes, and escaped slashes. */
function toRe2(source: string): string {
  const escapes = /\\u\{([0-9a-f]+)\}|\\u([0-9a-f]{4})|\\c([a-z])|\\([\s\S])/gi
  return source.replace(escapes, (whole, long, short, control, other) => {
    if (long ?? short) return `\\x{${long ?? short}}`
    if (control) return `\\x{${(control.toUpperCase().charCodeAt(0) - 64).toString(16)}}`
    return other === '/' ? '/' : whole
  })
}
