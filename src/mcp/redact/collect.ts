// Collects the secret values in one server's configuration: from variables, arguments, headers and URLs, and from JSON,
// connection strings and credentials inside them.
// Implements H8.
import type { ServerConfig } from '../types.ts'
import { isHarmless, isKeyLike, isSecretName, isSecretSetting, isSecretWord } from './shapes.ts'

/** Secret values as they are written in the configuration, and their decoded parts. */
export type Secrets = ReadonlySet<string>

/**
 * Where a value was found. A `setting` is secret unless it is harmless; a `word` (of a command line or a public header)
 * only if its name or its own shape says so.
 */
type Source = 'setting' | 'word'

const MAX_DEPTH = 20
/** A line of a multi-line value with this many characters or more is a secret by itself. */
const MIN_LINE_LENGTH = 16
/** Headers whose values are usually not secret. */
const PUBLIC_HEADERS =
  /^(?:accept(?:-.*)?|content-.*|user-agent|cache-control|host|connection|origin|referer|mcp-.*)$/i

/** Returns every value of a server's configuration that must not be shown. */
export function collectSecrets({ transport, variables = {} }: ServerConfig): Secrets {
  const secrets = new Set<string>()
  for (const [name, value] of Object.entries(variables)) take(value, name, 'setting', secrets)
  if (transport.kind === 'stdio') {
    for (const [name, value] of Object.entries(transport.env)) take(value, name, 'setting', secrets)
    // A whole command line is not a command, but an error about it shows it.
    takeArguments(transport.command.split(/\s+/), secrets)
    takeArguments(transport.args, secrets)
  } else {
    for (const [name, value] of Object.entries(transport.headers)) takeHeader(name, value, secrets)
    takeAddress(transport.url, secrets)
  }
  return secrets
}

/** Adds a value if it is a secret; of a composite value, its secret parts. */
function take(text: string, name: string, source: Source, secrets: Set<string>, depth = 0): void {
  const value = unquoted(text.trim())
  if (value === '' || depth > MAX_DEPTH || takeComposite(value, name, source, secrets, depth)) return
  const isSecret =
    source === 'setting' ? isSecretSetting(value, name) : isSecretName(name) && value.length > 3
  if ((isSecret || (source === 'word' && isSecretWord(value))) && !isHarmless(value)) secrets.add(value)
  takeParts(value, secrets)
}

/** Handles JSON, credentials with a scheme, URLs and connection strings. Returns false if it is none of them. */
function takeComposite(
  value: string,
  name: string,
  source: Source,
  secrets: Set<string>,
  depth: number,
): boolean {
  const isComposite =
    takeJson(value, name, source, secrets, depth) ||
    takeCredentials(value, secrets) ||
    takeAddress(value, secrets) ||
    takeFields(value, secrets, depth)
  // Under the name of a secret, the whole value is a secret too, whatever it looks like.
  if (isComposite && source === 'setting' && isSecretName(name) && !isHarmless(value)) secrets.add(value)
  return isComposite
}

const SCHEME = /^(?:Bearer|Basic|Token|ApiKey|Api-Key|Digest|Negotiate|PRIVATE-TOKEN)[ :]+/i

/**
 * Adds the credentials after a scheme (`Bearer x`, `ApiKey id:x`, `Basic dXNlcjpwYXNz`), and the part after their colon,
 * decoded if they are base64. Returns false for a value without a scheme.
 */
function takeCredentials(value: string, secrets: Set<string>): boolean {
  const credentials = value.replace(SCHEME, '')
  if (credentials === value || /\s/.test(credentials)) return false
  if (credentials.length >= 4 && !isHarmless(credentials)) secrets.add(credentials)
  for (const text of [credentials, decodedBase64(credentials) ?? '']) {
    const [, password = ''] = /^[^:]*:(.+)$/s.exec(text) ?? []
    if (password.length >= 4) secrets.add(password)
  }
  return true
}

/** Decodes base64; undefined if the result is not at least six characters of readable text. */
function decodedBase64(value: string): string | undefined {
  if (value.length < 12 || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(value)) return undefined
  const decoded = Buffer.from(value, 'base64').toString('utf8')
  return /^(?:[\t\n\r]|[^\p{Cc}\ufffd]){6,}$/u.test(decoded) ? decoded : undefined
}

/**
 * Adds the secrets of a header; even a public one may contain a key: `User-Agent: x (key …)`, `Referer:
 * https://x?token=…`.
 */
function takeHeader(name: string, value: string, secrets: Set<string>): void {
  // A header pasted as a name is not sent, but an error about it shows it.
  const [, before, after] = /^([^:\s]+)\s*:\s*(.+)$/s.exec(name) ?? []
  if (before !== undefined && after !== undefined) takeHeader(before, after, secrets)
  const isPublic = PUBLIC_HEADERS.test(name) && !isSecretName(name)
  take(value, name, isPublic ? 'word' : 'setting', secrets)
}

/**
 * Adds the secret parts of a value: its decoded base64, the password of `user:password` and `user:password@host`, long
 * lines and key-like words.
 */
function takeParts(value: string, secrets: Set<string>): void {
  const decoded = secrets.has(value) ? decodedBase64(value) : undefined
  if (decoded !== undefined) secrets.add(decoded)
  const [, password = ''] =
    /^[^\s:@/]+:([^\s@]{4,})(?:@\S+)?$/.exec(decoded ?? (value.includes('@') ? value : '')) ?? []
  if (password !== '') secrets.add(password)
  // Some configurations write the line breaks of a key as a backslash and an `n`.
  const lines = value.split(/\s*(?:\n|\\n)\s*/)
  if (lines.length > 1)
    for (const line of lines) if (line.length >= MIN_LINE_LENGTH && !/^-{5}/.test(line)) secrets.add(line)
  const words = value.split(/[\s,;|"'`]+/)
  if (words.length > 1) for (const word of words) if (isKeyLike(word)) secrets.add(word)
}

/** Adds the secrets in a JSON object or array, by their keys. Returns false if the value is neither. */
function takeJson(value: string, name: string, source: Source, secrets: Set<string>, depth: number): boolean {
  if (!/^[[{]/.test(value)) return false
  let parsed: unknown
  try {
    parsed = JSON.parse(value)
  } catch {
    return false
  }
  const visit = (item: unknown, key: string, as: Source, level: number): void => {
    if (level > MAX_DEPTH) return
    if (typeof item === 'string') take(item, key, as, secrets, level + 1)
    else if (typeof item === 'number' && isSecretName(key)) take(String(item), key, as, secrets, level + 1)
    else if (Array.isArray(item)) for (const one of item) visit(one, key, as, level + 1)
    else if (typeof item === 'object' && item !== null)
      for (const [inner, one] of Object.entries(item))
        visit(one, inner, SETTINGS.test(key) ? 'setting' : as, level + 1)
  }
  visit(parsed, name, source, depth)
  return true
}

/** Keys of objects whose values are settings, however the object itself was found. */
const SETTINGS = /^(?:env|environment|headers?|http_headers)$/i

/**
 * Collects the secret parts of a URL: user and password, values of query and fragment, key-like parts of the path.
 * Parsed by hand, because passwords often contain characters that a URL must not. Returns false if it is not a URL.
 */
function takeAddress(value: string, secrets: Set<string>): boolean {
  const match = /^(?:jdbc:)?[a-z][a-z0-9+.-]*:\/\/([^\s]*)$/is.exec(value)
  if (!match) return false
  const { users, rest } = splitUser(match[1] ?? '')
  for (const user of users) {
    const [name = '', ...password] = user.split(':')
    if (password.length > 0) addDecoded(password.join(':'), secrets)
    else if (isSecretWord(name)) addDecoded(name, secrets)
  }
  const [place = '', ...query] = rest.split(/[?#]/)
  for (const part of place.split('/').slice(1)) if (isSecretWord(part)) addDecoded(part, secrets)
  for (const pair of query.join('&').split('&')) {
    const [, parameter = '', text = ''] = /^([^=]*)=(.*)$/s.exec(pair) ?? []
    const decoded = decode(text)
    if (isSecretSetting(decoded, parameter)) addDecoded(text, secrets)
  }
  return true
}

/**
 * Splits off what precedes the host. It ends at the last `@` before the path; because a password may contain a slash, the
 * text up to the last `@` of the whole URL is a second candidate.
 */
function splitUser(address: string): { readonly users: readonly string[]; readonly rest: string } {
  const end = address.search(/[/?#]/)
  const authority = end < 0 ? address : address.slice(0, end)
  const isPort = /^[^@:]+:\d+$/.test(authority)
  const ends = [
    authority.lastIndexOf('@'),
    authority.includes(':') && !isPort ? address.lastIndexOf('@') : -1,
  ]
  const users = ends.filter((at) => at > 0).map((at) => address.slice(0, at))
  return { users, rest: address.slice(Math.max(0, ends[0]! + 1)) }
}

function addDecoded(text: string, secrets: Set<string>): void {
  for (const form of [text, decode(text)]) if (form.length >= 4 && !isHarmless(form)) secrets.add(form)
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * Adds the secrets of a connection string: `Server=db;User Id=sa;Password=x` or `host=db user=sa password=x`. Returns
 * false if the value has fewer than two such fields.
 */
function takeFields(value: string, secrets: Set<string>, depth: number): boolean {
  const fields = value.includes(';') ? value.split(';') : value.split(/\s+(?=[\w.-]+=)/)
  const pairs = fields.map((field) => /^\s*([\w. -]{1,60}?)\s*=\s*(.*)$/s.exec(field))
  if (fields.length < 2 || !pairs[0] || pairs.filter(Boolean).length < 2) return false
  for (const pair of pairs) if (pair) take(pair[2] ?? '', pair[1] ?? '', 'setting', secrets, depth + 1)
  return true
}

/**
 * Adds the secrets of a command line: values of assignments, headers and flags that name a secret, and words that look
 * like a key.
 */
function takeArguments(args: readonly string[], secrets: Set<string>): void {
  const first = args.findIndex((argument) => !argument.startsWith('-'))
  // The first word is the program, as in `npx -y secrets-manager-mcp`, unless a flag says that it is a secret.
  const program = isSecretName(args[first - 1] ?? '') ? -1 : first
  args.forEach((argument, index) => {
    if (index !== program || isKeyLike(argument) || /[=:\s]/.test(argument))
      takeArgument(argument, args[index - 1] ?? '', secrets)
    const words = shellWords(argument)
    // An argument with blanks may be a script, as for `sh -c`.
    if (words.length > 1) takeArguments(words, secrets)
  })
}

function takeArgument(argument: string, before: string, secrets: Set<string>): void {
  const [, flag, inline] = /^(-{1,2}[\w.-]+)(?:=(.*))?$/s.exec(argument) ?? []
  const flagBefore = /^-{1,2}[\w.-]+$/.test(before) ? before : ''
  if (flag === undefined) takeBehind(flagBefore, argument, secrets)
  else if (inline !== undefined) takeBehind(flag, inline, secrets)
  else if (isKeyLike(argument.replace(/^-+/, ''))) secrets.add(argument)
}

/** Adds the secrets of one argument; `flag` is the flag it belongs to, or empty. */
function takeBehind(flag: string, value: string, secrets: Set<string>): void {
  const [, name, assigned] = /^([A-Za-z_][\w.-]*)=(.*)$/s.exec(value) ?? []
  const [, header, content] = HEADER.exec(value) ?? []
  const [, password] = USER_FLAG.test(flag) ? (/^[^:\s]+:(.+)$/s.exec(value) ?? []) : []
  if (password !== undefined) secrets.add(password)
  if (name !== undefined && assigned !== undefined && !takeFieldsOf(value, secrets))
    take(assigned, name, 'setting', secrets)
  else if (header !== undefined && content !== undefined && isHeader(header, value))
    takeHeader(header, content, secrets)
  else take(value, flag, 'word', secrets)
}

const HEADER = /^([A-Za-z][A-Za-z0-9-]*):\s*(\S.*)$/s
/** Flags whose value is `user:password`. */
const USER_FLAG = /^(?:-u|--user|--userpwd|--basic-auth|--proxy-user|--credentials?)$/

/** Returns whether a text is `Name: value`; without the space only if the name says secret or begins with `x-`. */
function isHeader(name: string, whole: string): boolean {
  return (
    !/^[a-z][a-z0-9+.-]*:\/\//i.test(whole) &&
    (/^[^:]+:\s/.test(whole) || isSecretName(name) || /^x-/i.test(name))
  )
}

function takeFieldsOf(value: string, secrets: Set<string>): boolean {
  return /[;\s]/.test(value) && takeFields(value, secrets, 0)
}

/** Splits a text at blanks outside of quotes and removes the quotes; a text without blanks is returned as it is. */
function shellWords(text: string): string[] {
  if (!/\s/.test(text.trim())) return [text]
  const words = text.match(/(?:[^\s"']+|"(?:[^"\\]|\\.)*"|'[^']*')+/g) ?? []
  return words.map((word) =>
    word.replace(/"((?:[^"\\]|\\.)*)"|'([^']*)'/g, (_, double, single) => double ?? single),
  )
}

function unquoted(value: string): string {
  return /^(["']).*\1$/s.test(value) && value.length > 2 ? value.slice(1, -1) : value
}
