// Secrets stay out of everything that is shown: what a configuration gives in the environment, in headers, behind flags
// that name a secret, and in addresses.
import type { ServerConfig } from '../types.ts'

const SHORTEST_SECRET = 6

export function redactor({ transport }: ServerConfig): (text: string) => string {
  const given =
    transport.kind === 'stdio'
      ? [...Object.values(transport.env), ...transport.args.flatMap(secretsIn)]
      : [...Object.values(transport.headers), ...secretsOf(transport.url, [transport.url])]
  const secrets = given
    .flatMap((value) => [value, value.replace(/^(?:Bearer|Basic|Token)\s+/i, '')])
    .filter((value) => value.length >= SHORTEST_SECRET)
    .sort((a, b) => b.length - a.length)
  return (text) => secrets.reduce((shown, secret) => shown.replaceAll(secret, '[hidden]'), text)
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
