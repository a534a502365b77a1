// The template language of scripts: {{templates}} in texts, and tool names as /patterns/.

import { type Fields, isFields, splitName } from '../../lib/index.ts'

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

export function fillFields(fields: Fields, meaning: ResolveTemplate): Fields {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, fillAll(value, meaning)]))
}

/** The number of capture groups in a regular expression. */
export function groupsIn(pattern: RegExp): number {
  return (new RegExp(`${pattern.source}|`, pattern.flags).exec('')?.length ?? 1) - 1
}

/** The tools that a name in a script refers to: one, or all that a `/pattern/` matches. */
export type NamePattern = {
  /** A readable form for messages. */
  readonly said: string
  readonly fits: (name: string) => boolean
}

/** Throws if the pattern is not a valid regular expression. */
export function patternOf(name: string, meaning: ResolveTemplate): NamePattern {
  const source = /^\/(.+)\/$/.exec(name)?.[1]
  if (source === undefined) {
    const whole = fill(name, meaning)
    return { said: whole, fits: (other) => other === whole }
  }
  const pattern = new RegExp(fill(source, (template) => escaped(meaning(template))))
  return { said: `/${pattern.source}/`, fits: (other) => pattern.test(other) }
}

/** The words of a name or pattern, for use as a query. */
export function nameWords(name: string): string[] {
  return splitName(name.replace(/\W+/g, '_').replace(/^_+/, ''))
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
