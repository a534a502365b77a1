// Secrets stay out of everything that is shown: values of the environment and headers that a configuration gives.
import type { ServerConfig } from '../types.ts'

const SHORTEST_SECRET = 6

export function redactor({ transport }: ServerConfig): (text: string) => string {
  const given = transport.kind === 'stdio' ? transport.env : transport.headers
  const secrets = Object.values(given)
    .flatMap((value) => [value, value.replace(/^Bearer\s+/i, '')])
    .filter((value) => value.length >= SHORTEST_SECRET)
    .sort((a, b) => b.length - a.length)
  return (text) => secrets.reduce((shown, secret) => shown.replaceAll(secret, '[hidden]'), text)
}
