// Hides configured values in everything that Toolshelf writes: of one server's variables, headers, references, arguments
// and URL, literally and as JSON, URLs and base64 write them. What a server sends in another form is not found.
// Implements H8.
import { cleanText, splitName } from '@toolshelf/core/internal'
import type { ServerConfig } from './types.ts'

/** Hides one server's secrets. */
export type Redactor = ReturnType<typeof createRedactor>

const HIDDEN = '[hidden]'
const [MAX_CHARACTERS, MAX_SCANNED, MAX_DEPTH, MAX_CAUSES, MAX_LEARNED] = [1_000_000, 100_000, 1000, 5, 20]
/** Characters of a pattern that are part of an expression: engines refuse very long ones. */
const HEAD = 200
/** Keys of definitions whose values a request must repeat. */
const EXACT = /^(?:name|enum|const|pattern|required|uri|\$ref|type|nextCursor)$/

export function createRedactor(config: ServerConfig) {
  const learned: string[] = []
  let hide = createTextRedactor([config])
  const text = (one: string): string => hide(one)
  const walk = <Value>(value: Value, isList: boolean, depth = 0): Value | string => {
    if (typeof value === 'string') return text(value)
    if (typeof value === 'number' && !isList && text(String(value)) === HIDDEN) return HIDDEN
    if (typeof value !== 'object' || value === null) return value
    if (depth > MAX_DEPTH) return HIDDEN
    if (Array.isArray(value)) return value.map((one) => walk(one, isList, depth + 1)) as Value
    const fields = Object.entries(value).map(([key, item]) => {
      // An object under such a key is the schema of an argument of this name.
      const isExact = isList && EXACT.test(key) && (typeof item === 'string' || Array.isArray(item))
      return [isList ? key : text(key), isExact ? item : walk(item, isList, depth + 1)]
    })
    return Object.fromEntries(fields)
  }
  return {
    /** Returns the text with every secret replaced by `[hidden]`; a very long one is cut. */
    text,
    /** Returns a copy of plain data with secrets hidden in its strings and keys. */
    data: <Data extends object>(data: Data) => walk(data, false) as Data,
    /** Returns a copy of what a server lists with secrets hidden, except in what a request must repeat exactly. */
    list: <List extends object>(list: List) => walk(list, true) as List,
    /** Hides secrets and control characters in an error and its causes. Returns the same error. */
    error(original: unknown): unknown {
      for (let one = original, at = 0; one instanceof Error && at < MAX_CAUSES; one = one.cause, at++)
        for (const field of ['message', 'stack', 'data']) {
          const said: unknown = Reflect.get(one, field)
          const value = walk(field === 'message' ? cleanText(String(said)) : said, false)
          if (value !== said) Object.defineProperty(one, field, { value, writable: true, configurable: true })
        }
      return original
    },
    /** Returns the configuration with its secrets and every value of `env` and `headers` hidden. */
    config(): ServerConfig {
      const { variables: _, transport, ...rest } = config
      const [key, values] =
        transport.kind === 'stdio' ? ['env', transport.env] : ['headers', transport.headers]
      const shown = Object.fromEntries(Object.keys(values).map((name) => [name, HIDDEN]))
      return { ...rest, transport: { ...(walk(transport, true) as typeof transport), [key]: shown } }
    },
    /** Adds a secret learned later, such as the token of a login; the last 20 count. */
    add(secret: string): void {
      if (learned.includes(secret)) return
      if (learned.push(secret) > MAX_LEARNED) learned.shift()
      hide = createTextRedactor([config], learned)
    },
  }
}

/** Returns a function that hides the secrets of many servers, and others, in a text. */
export function createTextRedactor(
  configs: readonly ServerConfig[],
  others: readonly string[] = [],
): (text: string) => string {
  const secrets = [...others, ...configs.flatMap((config) => [...collectSecrets(config)])]
  const hide = createHider([...new Set(secrets.flatMap(formsOf))])
  return (input) => {
    const hidden = hide(input.length > MAX_CHARACTERS ? `${input.slice(0, MAX_CHARACTERS)}…` : input)
    // Cleaning, here or later, joins what invisible characters have parted.
    const cleaned = cleanText(hidden)
    const shown = cleaned === hidden ? hidden : hide(cleaned)
    return shown === cleaned ? hidden : shown
  }
}

/** Returns a secret as it is, and as JSON, URLs and base64 write it. */
function formsOf(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1)
  const ascii = json.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const url = encodeURIComponent(secret.toWellFormed())
  const strict = url.replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)
  const urls = [url, strict, url.replaceAll('%20', '+'), encodeURI(secret.toWellFormed())]
  // The digits that depend on the secret alone, for each place where it may start in a text such as `user:secret`.
  const base64 = [0, 1, 2].map((offset) => {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)])
    return bytes.toString('base64').slice(Math.ceil((offset * 4) / 3), Math.floor((bytes.length * 4) / 3))
  })
  const lower = urls.map((one) => one.replace(/%../g, (code) => code.toLowerCase()))
  const web = base64.map((digits) => digits.replaceAll('+', '-').replaceAll('/', '_'))
  return [secret, json, ascii, json.replaceAll('/', '\\/'), ...urls, ...lower, ...base64, ...web]
}

/**
 * Returns a function that replaces whatever in a text the patterns cover, by one expression, which the engine compiles to a
 * tree. The longest one counts, and ranges that touch are joined, so that nothing of a longer secret stays visible.
 */
function createHider(patterns: readonly string[]): (text: string) => string {
  if (patterns.length === 0) return (text) => text
  const sorted = patterns.toSorted((one, other) => other.length - one.length)
  const heads = sorted.map((pattern) => pattern.slice(0, HEAD).replace(/[^\w\s]/g, '\\$&'))
  const expression = new RegExp(`(?=(${[...new Set(heads)].join('|')}))`, 'g')
  return (text) => {
    let [shown, end] = ['', -1]
    text.replace(expression, (_, { length }: string, at: number) => {
      const whole = length < HEAD ? length : (sorted.find((one) => text.startsWith(one, at))?.length ?? 0)
      if (whole > 0 && at > end) shown += text.slice(Math.max(end, 0), at) + HIDDEN
      if (whole > 0) end = Math.max(end, at + whole)
      return ''
    })
    return shown + text.slice(Math.max(end, 0))
  }
}

/**
 * Shortest values that are hidden. Hiding `1`, `true` or `dev` would garble every text in which they occur, and the gap
 * would tell the value. Under a name that says secret six characters count; else eight, and no single short word, because
 * `production`, `localhost` and `postgres` are words of many tools.
 */
const [MIN_NAMED_LENGTH, MIN_LENGTH] = [6, 8]
const SHORT_WORD = /^[A-Za-z]{1,15}$/
/** Variables and headers whose values every program knows, and which are part of many messages. */
const KNOWN = /^(?:HOME|PATH|SHELL|TERM|USER|LOGNAME|PWD|TMPDIR|LANG|TZ|Accept|Content-Type|User-Agent)$/i

/** Returns the values of a server's configuration that must not be shown, as they are written. */
function collectSecrets({ transport, variables = {} }: ServerConfig): ReadonlySet<string> {
  const secrets = new Set<string>()
  const take = (name: string, text: string): void => {
    const isNamed = isSecretName(name)
    // A reference that is not expanded is no secret, but a text beside it may be.
    for (const part of [text, decoded(text)].flatMap((one) => one.split(/\$\{[^}]*\}/))) {
      const value = part.trim().replace(/^(["'])(.*)\1$/s, '$2')
      const isLong = value.length >= (isNamed ? MIN_NAMED_LENGTH : MIN_LENGTH)
      if (isLong && (isNamed || !SHORT_WORD.test(value))) secrets.add(value)
      const [, credentials] = /^(?:Bearer|Basic|Token|Api-?Key|Digest|Negotiate)\s+(.+)$/is.exec(value) ?? []
      if (credentials !== undefined) take('credentials', credentials)
    }
  }
  /** Takes a text whose name says secret, and whatever in it has such a name, or is a URL's password. */
  const scan = (name: string, text: string): void => {
    if (isSecretName(name)) take(name, text)
    const known = text.slice(0, MAX_SCANNED)
    for (const form of new Set([known, decoded(known), unescaped(known)])) {
      for (const [, flag = '', key = flag, ...values] of form.matchAll(ASSIGNMENT))
        if (isSecretName(key)) for (const value of values) take(key, unescaped(value ?? ''))
      for (const pattern of PASSWORDS)
        for (const [, found = ''] of form.matchAll(pattern)) take('password', found)
      for (const [, found = ''] of form.matchAll(USER)) take('user', found)
    }
  }
  const isLocal = transport.kind === 'stdio'
  const settings = isLocal ? transport.env : transport.headers
  for (const [name, value] of [settings, variables].flatMap((values) => Object.entries(values))) {
    if (!KNOWN.test(name)) take(name, value)
    // A header pasted as a name is not sent, but an error about it shows it.
    for (const text of [name, value]) scan('', text)
  }
  const words = isLocal ? [...transport.command.split(/\s+/), ...transport.args] : [transport.url]
  for (const [index, word] of words.entries()) {
    const [, name = '', value = ''] = /^-{0,2}([\w.-]+)\s*[=:]\s*(.+)$/s.exec(word) ?? []
    scan(name, value)
    scan(/^-[\w.-]+$/.exec(words[index - 1] ?? '')?.[0] ?? '', word)
  }
  return secrets
}

/** `--api-key x`, `API_KEY=x`, `"apiKey":"x"` or `Authorization: Bearer x`; the value may contain the next one. */
const ASSIGNMENT =
  /(?<![\w.-])(?:(-{1,2}[\w.-]+)\s+|([\w.-]+)["']?\s*[=:]\s*)(?:(?:Bearer|Basic|Token)\s+)?(?=(?:"((?:[^"\\]|\\.){1,8000})"|'([^']*)'|([^\s"'`,;&{}[\]]{1,8000})))/gi
/** The password of a URL ends at an @; which one is not certain if it contains signs that a URL must not. */
const PASSWORDS = ['\\S{1,500}?', '[^\\s/?#]{1,500}', '\\S{1,500}'].map(
  (password) => new RegExp(`://[^\\s/:@]*:(?!\\d{1,5}/)(${password})@`, 'g'),
)
const USER = /:\/\/([^\s/?#@:"'`]{1,500})@/g

const unescaped = (text: string) => text.replace(/\\(["\\/])/g, '$1')
const decoded = (text: string) =>
  text.replace(/(?:%[0-9a-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString())

/** Returns whether the name of a variable, header, flag, parameter or field says that its value is a secret. */
export function isSecretName(name: string): boolean {
  const words = splitName(name).join(' ')
  return SECRET.test(words) && !SETTING.test(words)
}

const SECRET =
  /key|token|secret|pass ?(?:wo?r?d|phrase)|credential|auth|bearer|cookie|jwt|signature|mnemonic|webhook|\b(?:pass|pwd?|pat|pin|otp|sid|sig|dsn|seed|creds?|private|session)\b/
/** Ends of the names of plain settings that mention a secret: `TOKEN_URL`, `KEY_FILE`, `max_tokens`. */
const SETTING =
  /\b(?:type|mode|ur[il]|host|port|path|file|dir|folder|method|header|name|enabled|required|version|region|endpoint|issuer|audience|scopes?|algorithm|limit|count|size|ttl|timeout|length|max(?:imum)? tokens)$/
