// Secrets stay out of everything that is shown: what a configuration gives in the environment, in headers, behind flags
// that name a secret, and in addresses.
import type { ServerConfig } from '../types.ts'

const SHORTEST_SECRET = 6
const SHORTEST_LINE = 16

export function redactor({ transport }: ServerConfig): (text: string) => string {
  const given =
    transport.kind === 'stdio'
      ? [...Object.values(transport.env), ...transport.args.flatMap(secretsIn)]
      : [...Object.values(transport.headers), ...secretsOf(transport.url, [transport.url])]
  const secrets = given
    .flatMap((value) => [value, value.replace(/^(?:Bearer|Basic|Token)\s+/i, ''), ...longLines(value)])
    .filter((value) => value.length >= SHORTEST_SECRET)
    .sort((a, b) => b.length - a.length)
  return (text) => secrets.reduce((shown, secret) => shown.replaceAll(secret, '[hidden]'), text)
}

/** A private key is told line by line. */
function longLines(value: string): string[] {
  const lines = value.split(/\s*\n\s*/)
  return lines.length > 1 ? lines.filter((line) => line.length >= SHORTEST_LINE) : []
}

/** The same error: clients are shown the server's own, and what it holds besides its message. */
export function withoutSecrets(error: unknown, redact: (text: string) => string): unknown {
  const own = error as { message: string; data?: unknown }
  const message = redact(own.message)
  // That of some errors cannot be written.
  if (message !== own.message) own.message = message
  if (own.data !== undefined) own.data = redactData(own.data, redact)
  return error
}

function redactData(data: unknown, redact: (text: string) => string): unknown {
  try {
    return JSON.parse(JSON.stringify(data), (_, value) => (typeof value === 'string' ? redact(value) : value))
  } catch {
    return undefined // Nested too deeply to be passed on.
  }
}

const SECRET_NAME = /key|token|secret|passw|credential|auth/i
const FLAG = /^-{1,2}[\w-]+/

/** `--token=x`, `--token x`, or an address that holds a password. */
function secretsIn(word: string, index: number, words: readonly string[]): string[] {
  const flag = FLAG.exec(word)?.[0]
  if (flag === undefined || !SECRET_NAME.test(flag)) return secretsOf(word)
  if (word[flag.length] === '=') return [word.slice(flag.length + 1)]
  const next = words[index + 1]
  return word === flag && next !== undefined && !next.startsWith('-') ? [next] : []
}

/** What an address holds besides its place: a password, what its query calls a secret, and with `also` more. */
function secretsOf(address: string, also: readonly string[] = []): string[] {
  if (!address.includes('://') || !URL.canParse(address)) return []
  const { password, searchParams } = new URL(address)
  const named = [...searchParams].flatMap(([name, value]) => (SECRET_NAME.test(name) ? [value] : []))
  return [password, ...named, ...also]
}
