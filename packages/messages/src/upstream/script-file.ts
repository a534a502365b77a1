// Reads and validates a script for the offline model, so that playing it cannot fail. docs/script.md describes the format.
import { closestNames, type Fields, isFields, quote, splitName, toJson } from '@toolshelf/core/internal'
import { readNamedText } from '@toolshelf/core/internal/node'

export type ModelScript = {
  /** Ids that `GET /v1/models` lists. */
  readonly models: readonly string[]
  /** The API version that it simulates: the current one, or one without tool search. */
  readonly api: (typeof APIS)[number]
  /** Whether the model binds thinking to everything before it. */
  readonly boundThinking: boolean
  /** Milliseconds between two events of a reply. */
  readonly delay: number
  /** Tried in order; the first that matches the user's message answers. */
  readonly rules: readonly Rule[]
  /** The reply if no rule matches. */
  readonly otherwise: string
}

/** A rule: the steps that answer a matching message. */
export type Rule = { readonly when?: RegExp; readonly steps: readonly ScriptStep[] }

type ScriptStep =
  | { readonly kind: 'say'; readonly text: string }
  | { readonly kind: 'think'; readonly text: string }
  /** Calls and searches in one reply. */
  | { readonly kind: 'act'; readonly acts: readonly Act[] }
  | { readonly kind: 'stop'; readonly reason: string }
  | { readonly kind: 'fail'; readonly failure: Failure }
  /** The reply that contains this step breaks off in the middle. */
  | { readonly kind: 'cut' }

export type Act =
  | {
      readonly kind: 'call'
      readonly name: string
      /** A string is parsed as JSON after its templates are filled. */
      readonly input: Fields | string
      /** The query to search with if the tool is not visible. */
      readonly search?: string
    }
  | { readonly kind: 'search'; readonly query: string }

/** An error response that the script plays. */
export type Failure = {
  readonly status: number
  readonly type: string
  readonly message: string
  /** How often to fail; always if omitted. */
  readonly times?: number
}

const MAX_BYTES = 64_000_000

/** Thrown if the script cannot be read or is invalid. */
export class ScriptError extends Error {}

/**
 * Reads a script from a JSON file; throws a ScriptError that says what is wrong with it.
 *
 * @example
 * const upstream = createScriptUpstream({ script: await loadScript('sum.json') })
 */
export async function loadScript(path: string): Promise<ModelScript> {
  const text = await readNamedText(path, MAX_BYTES).catch((error: NodeJS.ErrnoException) => {
    if (error.code === undefined) throw new ScriptError(`the script ${path} ${error.message}.`)
    throw new ScriptError(`cannot read the script ${path} (${error.code}); check its path.`)
  })
  try {
    return readScript(JSON.parse(text))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    if (error instanceof ScriptError) throw new ScriptError(`${path}: ${reason}`)
    throw new ScriptError(`${path} is not JSON: ${withPlace(reason, text)}.${notAllowed(reason, text)}`)
  }
}

/** Names what other files may have and a script may not, if that is where JSON.parse stopped. */
function notAllowed(reason: string, text: string): string {
  const position = Number(/at position (\d+)/.exec(reason)?.[1])
  // Of lists with a trailing comma Node 20 does not say where.
  const isUnplaced = Number.isNaN(position)
  const rest = text.slice(position)
  if (!isUnplaced && /^\/[/*]/.test(rest)) return ' Comments are not allowed.'
  const hasComma = isUnplaced
    ? /^Unexpected token '\]'/.test(reason) && /,\s*\]/.test(text)
    : /^[\]}]/.test(rest) && /,\s*$/.test(text.slice(0, position))
  return hasComma ? ' Trailing commas are not allowed.' : ''
}

/** Replaces the position that JSON.parse reports by line and column. */
function withPlace(reason: string, text: string): string {
  return reason.replace(/ (?:in JSON )?at position (\d+)(?: \(line.*?\))?/, (_, position: string) => {
    const lines = text.slice(0, Number(position)).split('\n')
    return ` at line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`
  })
}

/** Validates a script; throws a ScriptError that locates the first mistake and says how to fix it. */
export function readScript(value: unknown): ModelScript {
  const fields = objectAt(value, 'the script', TOP_KEYS)
  const { model = DEFAULT_MODEL, api = 'current', boundThinking = false, delay = 0, otherwise } = fields
  return {
    models: listAt(Array.isArray(model) ? model : [model], 'model').map((name) => textAt(name, 'model')),
    api: oneOf(api, 'api', APIS),
    boundThinking:
      typeof boundThinking === 'boolean'
        ? boundThinking
        : wrong('boundThinking', 'true or false', boundThinking),
    delay: numberAt(delay, 'delay', 0, MAX_DELAY_MS),
    rules: listAt(fields.rules, 'rules').map((rule, index) => readRule(rule, `rules[${index}]`)),
    otherwise: otherwise === undefined ? DEFAULT_TEXT : templateAt(otherwise, 'otherwise', 0),
  }
}

const APIS = ['current', 'old'] as const
const DEFAULT_MODEL = 'toolshelf-script'
const DEFAULT_TEXT = 'No rule of the script fits this.'
const MAX_DELAY_MS = 60_000
const TOP_KEYS = ['model', 'api', 'boundThinking', 'delay', 'rules', 'otherwise']
const STOPS = ['end_turn', 'max_tokens', 'refusal', 'model_context_window_exceeded']
const ERROR_TYPES: ReadonlyMap<number, string> = new Map([
  [400, 'invalid_request_error'],
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [529, 'overloaded_error'],
])

function readRule(value: unknown, place: string): Rule {
  const { when, do: steps } = objectAt(value, place, ['when', 'do'])
  const pattern = when === undefined ? undefined : regexAt(textAt(when, `${place}.when`), `${place}.when`)
  const groups = pattern ? groupsIn(pattern) : 0
  return {
    ...(pattern ? { when: pattern } : {}),
    steps: listAt(steps, `${place}.do`).map((step, index) => readStep(step, `${place}.do[${index}]`, groups)),
  }
}

/** A step is an object with one of these keys; a call has additional ones. */
const STEPS: { readonly [key: string]: (value: unknown, place: string, groups: number) => ScriptStep } = {
  say: (text, place, groups) => ({ kind: 'say', text: templateAt(text, place, groups) }),
  think: (text, place, groups) => ({ kind: 'think', text: templateAt(text, place, groups) }),
  calls: (acts, place, groups) => ({
    kind: 'act',
    acts: listAt(acts, place).map((act, index) => readAct(act, `${place}[${index}]`, groups)),
  }),
  stop: (reason, place) => ({ kind: 'stop', reason: oneOf(reason, place, STOPS) }),
  fail: (failure, place) => ({ kind: 'fail', failure: readFailure(failure, place) }),
  cut: (value, place) => (value === true ? { kind: 'cut' } : wrong(place, 'true', value)),
}

const ACT_KEYS = ['call', 'input', 'search']
const STEP_KEYS = [...Object.keys(STEPS), ...ACT_KEYS]

function readStep(value: unknown, place: string, groups: number): ScriptStep {
  const fields = objectAt(value, place, STEP_KEYS)
  const keys = Object.keys(fields)
  const key = keys.find((name) => Object.hasOwn(STEPS, name))
  const read = key === undefined ? undefined : STEPS[key]
  if (!read || key === undefined) return { kind: 'act', acts: [readAct(fields, place, groups)] }
  const other = keys.find((name) => name !== key)
  if (other === undefined) return read(fields[key], `${place}.${key}`, groups)
  throw new ScriptError(`${place}: "${key}" and "${other}" cannot be combined; write two steps.`)
}

function readAct(value: unknown, place: string, groups: number): Act {
  const { call, input = {}, search } = objectAt(value, place, ACT_KEYS)
  const query = search === undefined ? {} : { search: templateAt(search, `${place}.search`, groups) }
  if (call === undefined) return readSearch(query.search, place)
  const name = templateAt(call, `${place}.call`, groups)
  checkPattern(name, `${place}.call`)
  if (!isFields(input) && typeof input !== 'string')
    return wrong(`${place}.input`, 'an object, or a text that becomes one', input)
  checkTemplates(toJson(input), `${place}.input`, groups)
  return { kind: 'call', name, input, ...query }
}

function readSearch(query: string | undefined, place: string): Act {
  if (query !== undefined) return { kind: 'search', query }
  throw new ScriptError(`${place} has no action; write ${listed(STEP_KEYS.filter(isVerb))}.`)
}

const isVerb = (key: string) => key !== 'input'

function readFailure(value: unknown, place: string): Failure {
  const fields = objectAt(value, place, ['status', 'type', 'message', 'times'])
  const status = numberAt(fields.status, `${place}.status`, 400, 599)
  const { type = ERROR_TYPES.get(status) ?? 'api_error', message = 'The script fails here.', times } = fields
  return {
    status,
    type: textAt(type, `${place}.type`),
    message: textAt(message, `${place}.message`),
    ...(times === undefined ? {} : { times: numberAt(times, `${place}.times`, 1, 1000) }),
  }
}

function objectAt(value: unknown, place: string, known: readonly string[]): Fields {
  if (!isFields(value)) return wrong(place, `an object with ${listed(known)}`, value)
  const unknown = Object.keys(value).find((key) => !known.includes(key))
  if (unknown === undefined) return value
  const [near] = closestNames(unknown, known, 1)
  const remedy = near ? `Did you mean "${near}"?` : `Use one of ${listed(known)}.`
  throw new ScriptError(`${place}: unknown key ${quote(unknown)}. ${remedy}`)
}

function listAt(value: unknown, place: string): readonly unknown[] {
  return Array.isArray(value) && value.length > 0
    ? value
    : wrong(place, 'a list with at least one entry', value)
}

function textAt(value: unknown, place: string): string {
  return typeof value === 'string' && value.trim() !== '' ? value : wrong(place, 'a text', value)
}

function numberAt(value: unknown, place: string, min: number, max: number): number {
  return Number.isInteger(value) && Number(value) >= min && Number(value) <= max
    ? Number(value)
    : wrong(place, `a whole number from ${min} to ${max}`, value)
}

function oneOf<Word extends string>(value: unknown, place: string, words: readonly Word[]): Word {
  return words.find((word) => word === value) ?? wrong(place, `one of ${listed(words)}`, value)
}

function templateAt(value: unknown, place: string, groups: number): string {
  const text = textAt(value, place)
  checkTemplates(text, place, groups)
  return text
}

function checkTemplates(text: string, place: string, groups: number): void {
  const unknown = templatesIn(text).find(
    (name) => name !== 'user' && name !== 'result' && !(/^\d+$/.test(name) && Number(name) <= groups),
  )
  if (unknown === undefined) return
  const known = `Known are {{user}}, {{result}} and, for each group of "when", its number; there are ${groups}.`
  throw new ScriptError(`${place}: unknown placeholder {{${unknown}}}. ${known}`)
}

function checkPattern(name: string, place: string): void {
  try {
    patternOf(name, () => '')
  } catch (error) {
    throw notRegex(place, error)
  }
}

function regexAt(source: string, place: string): RegExp {
  try {
    return new RegExp(source, 'i')
  } catch (error) {
    throw notRegex(place, error)
  }
}

function notRegex(place: string, error: unknown): ScriptError {
  const reason = error instanceof Error ? error.message : String(error)
  return new ScriptError(`${place}: ${reason}. In JSON each backslash is written twice.`)
}

function wrong(place: string, expected: string, value: unknown): never {
  throw new ScriptError(
    value === undefined
      ? `${place} is missing: write ${expected}.`
      : `${place} must be ${expected}, not ${quote(value)}.`,
  )
}

function listed(words: readonly string[]): string {
  return words.map((word) => `"${word}"`).join(', ')
}

const TEMPLATE = /\{\{\s*([^{}]*?)\s*\}\}/g

/** Returns the current value of a template. */
export type ResolveTemplate = (template: string) => string

function templatesIn(text: string): string[] {
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
function groupsIn(pattern: RegExp): number {
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
