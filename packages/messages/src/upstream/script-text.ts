// The template language of scripts: {{templates}} in texts, and tool names as /patterns/.
import { type Fields, isFields, splitName } from '@toolshelf/core/internal'

const TEMPLATE = /\{\{\s*([^{}]*?)\s*\}\}/g

/** Returns the current value of a template. */
export type ResolveTemplate = (template: string) => string

export function templatesIn(text: string): string[] {
  return [...text.matchAll(TEMPLATE)].map(([, name]) => name ?? '')
}

export function fill(text: string, meaning: ResolveTemplate): string {
  return text.replace(TEMPLATE, (_, name: string) => meaning(name))
}

/** Fills the templates in all strings of a value; keys stay unchanged. */
function fillAll(value: unknown, meaning: ResolveTemplate): unknown {
  if (typeof value === 'string') return fill(value, meaning)
  if (Array.isArray(value)) return value.map((item) => fillAll(item, meaning))
  return isFields(value) ? fillFields(value, meaning) : value
}

/** Replaces the templates in all strings of an object. */
export function fillFields(fields: Fields, meaning: ResolveTemplate): Fields {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, fillAll(value, meaning)]))
}

/** Counts the capture groups in a regular expression. */
export function groupsIn(pattern: RegExp): number {
  return (new RegExp(`${pattern.source}|`, pattern.flags).exec('')?.length ?? 1) - 1
}

/** The tools that a name in a script refers to: one, or all that a `/pattern/` matches. */
export type NamePattern = {
  /** The name, for messages and searches; the pattern if it stands for more than one name. */
  readonly said: string
  readonly fits: (name: string) => boolean
  /** Tools that it may mean, if there are several and none matches. */
  readonly near: readonly string[]
}

/**
 * Throws if the pattern is not a valid regular expression. `known` are the names of all tools: where none matches
 * `/(^|__)name$/`, the only one that ends in `_name` does, because some clients put `server_` in front of a name.
 */
export function patternOf(
  name: string,
  meaning: ResolveTemplate,
  known: readonly string[] = [],
): NamePattern {
  const source = /^\/(.+)\/$/.exec(name)?.[1]
  if (source === undefined) {
    const whole = fill(name, meaning)
    return { said: whole, fits: (other) => other === whole, near: [] }
  }
  const pattern = new RegExp(fill(source, (template) => escaped(meaning(template))))
  const fits = (other: string) => pattern.test(other)
  const only = literalOf(pattern.source)
  if (only === undefined) return { said: `/${pattern.source}/`, fits, near: [] }
  const isOfAnyServer = pattern.source.startsWith(ANY_SERVER) && pattern.source.endsWith('$')
  const isKnown = !isOfAnyServer || known.some(fits)
  const near = isKnown ? [] : [...new Set(known.filter((one) => one.endsWith(`_${only}`)))]
  return near.length === 1
    ? { said: only, fits: (other) => other === near[0] || fits(other), near: [] }
    : { said: only, fits, near }
}

const ANY_SERVER = '(^|__)'

/** The text that a pattern consists of besides its anchors; undefined if it can match several texts. */
function literalOf(source: string): string | undefined {
  const inner = source.replace(/^(?:\(\^\|__\)|\^)/, '').replace(/\$$/, '')
  return /^(?:[\w-]|\\\W)+$/.test(inner) ? inner.replace(/\\(\W)/g, '$1') : undefined
}

/** The words of a name or pattern, for use as a query. */
export function nameWords(name: string): string[] {
  return splitName(name.replace(/\W+/g, '_').replace(/^_+/, ''))
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
