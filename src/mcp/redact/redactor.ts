// Hides the secrets of a server's configuration in everything that is shown, forwarded or stored.
//
// It hides
// - values of `env`, `headers` and `${}` references, of `NAME=value` and header-like arguments, and of flags that name a
//   secret;
// - passwords, query values and key-like path parts of URLs, and values in connection strings;
// - strings in JSON, by the same rules and their keys;
// - any argument that looks like a generated key.
// It finds them in upper and lower case, escaped, URL-, hex- or base64-encoded, split by line breaks, and long keys by
// any twelve consecutive characters that mix letters and digits.
// It does not hide values of fewer than six characters (four under a secret's name) and harmless ones: common words,
// regions, hosts, paths, dates, versions, and, unless the name says secret, short words and numbers. `shapes.ts` decides.
// Implements H8.
import type { AuthProvider } from '@modelcontextprotocol/client'
import { cleanText } from '../../lib/index.ts'
import type { RemoteConfig, ServerConfig, StdioConfig } from '../types.ts'
import { collectSecrets } from './collect.ts'
import { patternsFor } from './forms.ts'
import { createMatcher, type Matcher, type Range } from './matcher.ts'

/** Hides one server's secrets. */
export type Redactor = {
  /** Returns the text with every secret replaced by `[hidden]`; longer than a million characters, it is cut. */
  text(text: string): string
  /** Returns whether the text contains a secret. */
  hasSecret(text: string): boolean
  /**
   * Returns a copy of plain data with secrets hidden in its strings and keys. Undefined if the data cannot be serialised
   * or takes more than a million characters of JSON.
   */
  data<Data>(data: Data): Data | undefined
  /**
   * Hides secrets in the message, stack and data of an error and its causes, five errors deep, and removes control
   * characters from the messages. Changes and returns the same error.
   */
  error(error: unknown): unknown
  /**
   * Returns the configuration with its secrets hidden, including every value of `env` and `headers`, and without
   * `variables`.
   */
  config(): ServerConfig
  /** Adds a secret learned later, such as the token of a login: the last 20 of at least eight characters count. */
  add(secret: string): void
}

/** Replaces a secret. */
export const HIDDEN = '[hidden]'
/** Longer texts are cut before the search; longer data is not returned at all. */
const MAX_CHARACTERS = 1_000_000
const MAX_CAUSES = 5
const MAX_LEARNED = 20
const MIN_LEARNED_LENGTH = 8

/** Creates the redactor for one server's configuration. */
export function createRedactor(config: ServerConfig): Redactor {
  const learned: string[] = []
  let matcher: Matcher | undefined
  let shown: ServerConfig | undefined

  /** Creates the matcher at first use, and again after a secret was added. */
  function match(text: string): readonly Range[] {
    matcher ??= createMatcher(patternsFor([...collectSecrets(config), ...learned]))
    return matcher(text)
  }

  const redact = (text: string) => hide(text, match)

  function data<Data>(value: Data): Data | undefined {
    if (value === undefined) return value
    try {
      const json = JSON.stringify(value)
      if (json.length > MAX_CHARACTERS) return undefined
      return JSON.parse(json, (_, value) => {
        if (typeof value === 'string') return redact(value)
        if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
        return Object.fromEntries(Object.entries(value).map(([key, item]) => [redact(key), item]))
      })
    } catch {
      return undefined
    }
  }

  /** Replaces a field even if it is read-only, as the stack of some errors is. */
  function rewrite(error: { [field: string]: unknown }, field: string, value: unknown): void {
    if (error[field] === value) return
    Object.defineProperty(error, field, { value, writable: true, configurable: true })
  }

  function error(original: unknown): unknown {
    let one = original
    for (let depth = 0; depth < MAX_CAUSES && one instanceof Error; depth++) {
      const own = one as Error & { [field: string]: unknown }
      rewrite(own, 'message', cleanText(redact(own.message)))
      if (own.stack !== undefined) rewrite(own, 'stack', redact(own.stack))
      if (own.data !== undefined) rewrite(own, 'data', data(own.data))
      one = own.cause
    }
    return original
  }

  return {
    text: redact,
    hasSecret: (text) => match(text).length > 0,
    data,
    error,
    config() {
      shown ??= shownConfig(config, redact)
      return shown
    },
    add(secret) {
      if (secret.length < MIN_LEARNED_LENGTH || learned.includes(secret)) return
      learned.push(secret)
      if (learned.length > MAX_LEARNED) learned.shift()
      matcher = undefined
      shown = undefined
    },
  }
}

/** Returns a function that hides the secrets of many servers, and others, in a text, in one pass. */
export function createTextRedactor(
  configs: readonly ServerConfig[],
  others: readonly string[] = [],
): (text: string) => string {
  const secrets = new Set([...others, ...configs.flatMap((config) => [...collectSecrets(config)])])
  const match = createMatcher(patternsFor(secrets))
  return (text) => hide(text, match)
}

function hide(input: string, match: Matcher): string {
  const text = input.length > MAX_CHARACTERS ? `${input.slice(0, MAX_CHARACTERS)}…` : input
  let rest = ''
  let from = 0
  for (const { start, end } of match(text)) {
    rest += text.slice(from, start) + HIDDEN
    from = end
  }
  return rest + text.slice(from)
}

/** Wraps a provider so that every token it returns is added to the redactor's secrets. */
export function watchTokens(
  provider: AuthProvider | undefined,
  redactor: Redactor,
): AuthProvider | undefined {
  return (
    provider && {
      async token() {
        const token = await provider.token()
        if (token !== undefined) redactor.add(token)
        return token
      },
      ...(provider.onUnauthorized ? { onUnauthorized: (context) => provider.onUnauthorized!(context) } : {}),
    }
  )
}

/** Hides every value of `env` and `headers`, secret or not, and the secrets in command, arguments and URL. */
function shownConfig(config: ServerConfig, redact: (text: string) => string): ServerConfig {
  const { variables: _, ...rest } = config
  return { ...rest, transport: shownTransport(config.transport, redact) }
}

function shownTransport(
  transport: StdioConfig | RemoteConfig,
  redact: (text: string) => string,
): StdioConfig | RemoteConfig {
  const hidden = (values: { readonly [name: string]: string }) =>
    Object.fromEntries(Object.keys(values).map((name) => [name, HIDDEN]))
  if (transport.kind !== 'stdio')
    return { ...transport, url: redact(transport.url), headers: hidden(transport.headers) }
  const { command, args, env } = transport
  return { ...transport, command: redact(command), args: args.map(redact), env: hidden(env) }
}
