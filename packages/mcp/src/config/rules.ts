// Finds rules of a configuration that match none of a server's tools: a typo, or a tool that no longer exists.
import { closestNames, matchesAny } from '@toolshelf/core/internal'
import type { ServerConfig, ServerStatus } from '../types.ts'

/** Returns rules that match no tool, each with the name that was probably meant. Empty while the server's tools are unknown. */
export function idleRules({ config, tools, hidden }: ServerStatus): readonly string[] {
  const names = [...tools.map(({ name }) => name), ...hidden]
  if (names.length === 0) return []
  const isIdle = (pattern: string) => !names.some((name) => isAllowed(name, { allow: [pattern], deny: [] }))
  const describe = (key: string, rule: string) => `${key} ${JSON.stringify(rule)}${meant(rule, names)}`
  return [
    ...config.allow.filter(isIdle).map((rule) => describe('"allow"', rule)),
    ...config.deny.filter(isIdle).map((rule) => describe('"deny"', rule)),
    ...Object.keys(config.tools)
      .filter((name) => !names.includes(name))
      .map((rule) => describe('"tools"', rule)),
  ]
}

function meant(rule: string, names: readonly string[]): string {
  const [near] = closestNames(rule.replaceAll('*', ' '), names, 1)
  return near === undefined ? '' : `; did you mean ${JSON.stringify(near)}?`
}

/** Returns whether the server's `allow` and `deny` rules let a tool through. */
export function isAllowed(tool: string, { allow, deny }: Pick<ServerConfig, 'allow' | 'deny'>): boolean {
  return (allow.length === 0 || matchesAny(allow, tool)) && !matchesAny(deny, tool)
}
