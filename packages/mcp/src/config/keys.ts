// Defines all keys of Toolshelf's own file, with their types and defaults. docs/toolshelf.schema.json describes the same
// for editors.
import { closestNames, type Fields, isFields } from '@toolshelf/core/internal'

/** A type of value: its name for messages, and a function that returns the value if it matches. */
type FieldType<Value> = { readonly is: string; readonly read: (value: unknown) => Value | undefined }
type FieldTypes = { readonly [key: string]: FieldType<unknown> }
export type Values<Table extends FieldTypes> = {
  readonly [key in keyof Table]?: Table[key] extends FieldType<infer Value> ? Value : never
}

type Read<Table extends FieldTypes> = {
  readonly values: Values<Table>
  /** Keys whose value has the wrong type. */
  readonly wrong: readonly string[]
  readonly problems: readonly string[]
}

type ReadOptions = {
  /** Other clients' spellings of keys, for "did you mean" suggestions. */
  readonly others?: readonly string[]
  /** Keys whose invalid value makes the whole object invalid. */
  readonly decisive?: readonly string[]
}

export function readKeys<Table extends FieldTypes>(
  kinds: Table,
  fields: Fields,
  { others = [], decisive = [] }: ReadOptions = {},
): Read<Table> {
  const values: [string, unknown][] = []
  const wrong: string[] = []
  const problems: string[] = []
  for (const [key, given] of Object.entries(fields)) {
    if (given === undefined || given === null) continue
    const kind = Object.hasOwn(kinds, key) ? kinds[key] : undefined
    const value = kind?.read(given)
    if (value !== undefined) values.push([key, value])
    else if (kind) {
      wrong.push(key)
      problems.push(
        `"${key}" must be ${kind.is}; ${decisive.includes(key) ? 'the server is left out' : 'it is ignored'}.`,
      )
    } else problems.push(unknownKey(key, [...Object.keys(kinds), ...others]))
  }
  return { values: Object.fromEntries(values) as Values<Table>, wrong, problems }
}

/** Returns the message about an unknown key, with the most similar known one. */
export function unknownKey(key: string, known: readonly string[]): string {
  const [near] = closestNames(key, known, 1)
  return `unknown key ${JSON.stringify(key.slice(0, 80))}${near ? `; did you mean "${near}"?` : '.'} It is ignored.`
}

const MAX_TIMER_MS = 2 ** 31 - 1

const text: FieldType<string> = {
  is: 'a text',
  read: (value) => (typeof value === 'string' ? value : undefined),
}

const flag: FieldType<boolean> = {
  is: 'true or false',
  read: (value) => (typeof value === 'boolean' ? value : undefined),
}

/** A list of strings; converts numbers and booleans. */
const texts: FieldType<readonly string[]> = {
  is: 'a list of texts',
  read: (value) => (Array.isArray(value) && value.every(isWord) ? value.map(String) : undefined),
}

/** A boolean, or a list of names. */
const allOrNames: FieldType<boolean | readonly string[]> = {
  is: 'true, false or a list of names',
  read: (value) => flag.read(value) ?? texts.read(value),
}

/** An object of strings; converts numbers and booleans. */
const textsByName: FieldType<{ readonly [name: string]: string }> = {
  is: 'an object of texts',
  read(value) {
    if (!isFields(value)) return undefined
    const given = Object.entries(value).filter(([, item]) => item !== null)
    return given.every(([, item]) => isWord(item))
      ? recordOf(given.map(([name, item]) => [name, String(item)]))
      : undefined
  },
}

/** A positive number of milliseconds. */
const milliseconds: FieldType<number> = {
  is: 'a number of milliseconds above 0',
  read: (value) => (typeof value === 'number' && value > 0 ? Math.min(value, MAX_TIMER_MS) : undefined),
}

export const fieldsKind: FieldType<Fields> = {
  is: 'an object',
  read: (value) => (isFields(value) ? value : undefined),
}

function wholeNumber(min: number): FieldType<number> {
  return {
    is: `a whole number from ${min}`,
    read: (value) => (Number.isSafeInteger(value) && Number(value) >= min ? Number(value) : undefined),
  }
}

function oneOf<Word extends string>(...words: readonly Word[]): FieldType<Word> {
  return {
    is: `one of ${words.map((word) => `"${word}"`).join(', ')}`,
    read: (value) => words.find((word) => word === value),
  }
}

/** Creates an object without a prototype, so that looking up a tool called "constructor" finds nothing. */
export function recordOf<Item>(entries: readonly (readonly [string, Item])[]): {
  readonly [name: string]: Item
} {
  return Object.assign(Object.create(null), Object.fromEntries(entries))
}

const isWord = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value)

export const rootKeys = { $schema: text, mcpServers: fieldsKind, gateway: fieldsKind }

export const serverKeys = {
  type: oneOf('stdio', 'http', 'sse', 'auto'),
  command: text,
  args: texts,
  env: textsByName,
  inheritEnv: allOrNames,
  cwd: text,
  url: text,
  headers: textsByName,
  alwaysLoad: flag,
  lazy: flag,
  description: text,
  disabled: flag,
  tools: fieldsKind,
  allow: texts,
  deny: texts,
  elicitation: oneOf('ask', 'deny'),
  sampling: oneOf('ask', 'deny'),
  connectTimeout: milliseconds,
  callTimeout: milliseconds,
  maxTools: wholeNumber(1),
  resultBudget: wholeNumber(0),
  credentials: oneOf('user'),
}

export const toolKeys = { alwaysLoad: flag, hint: text, resultBudget: wholeNumber(0) }

export const gatewayKeys = {
  mode: oneOf('auto', 'list', 'bridge'),
  onChange: oneOf('report', 'hold'),
  instructions: wholeNumber(0),
  concurrency: wholeNumber(1),
  resultBudget: wholeNumber(0),
  batches: flag,
  scripts: flag,
  inheritEnv: allOrNames,
}

/** Default timeouts of a server, in milliseconds. */
export const serverDefaults = { connectTimeout: 60_000, callTimeout: 120_000 }

export type GatewaySettings = {
  /** How tools are shown: `auto` decides by the client's capabilities. */
  readonly mode: 'auto' | 'list' | 'bridge'
  /** What to do with a tool, a prompt or instructions that changed since first seen. */
  readonly onChange: 'report' | 'hold'
  /** Maximum characters of the instructions of all servers together. */
  readonly instructions: number
  /** How many servers connect at the same time. */
  readonly concurrency: number
  /** Longest result, in characters, that is passed on whole; longer ones are stored. 0 passes all on whole. */
  readonly resultBudget: number
  /** Whether clients in `bridge` mode get CallTools, which makes several calls in one. */
  readonly batches: boolean
  /** Whether clients get RunScript, which runs small programs over the tools. */
  readonly scripts: boolean
}

/** Default settings of the gateway. */
export const gatewayDefaults: GatewaySettings = {
  mode: 'auto',
  onChange: 'report',
  instructions: 4096,
  concurrency: 4,
  resultBudget: 25_000,
  batches: false,
  scripts: false,
}

/**
 * Reads the gateway settings of a file, without the defaults.
 *
 * @returns Also which variables all servers of this file inherit.
 */
export function readGateway(value: unknown): {
  readonly settings: Partial<GatewaySettings>
  readonly inheritEnv?: boolean | readonly string[] | undefined
  readonly problems: readonly string[]
} {
  if (value === undefined) return { settings: {}, problems: [] }
  const fields = fieldsKind.read(value)
  if (!fields) return { settings: {}, problems: ['"gateway" must be an object; it is ignored.'] }
  const { values, problems } = readKeys(gatewayKeys, fields)
  const { inheritEnv, ...settings } = values
  return { settings, inheritEnv, problems: problems.map((problem) => `in "gateway", ${problem}`) }
}
