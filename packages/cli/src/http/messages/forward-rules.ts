// The allow-list of requests that are forwarded to the upstream unread. It exists because they carry the operator's key.

export type MayForward = (method: string, path: string) => boolean

const ALWAYS = ['GET /v1/models/*']
const RULE = /^[A-Z]+ \/v1(?:\/(?:[\w.:@~-]+|\*))+$/

/** Each rule is a method and a path; `*` matches one segment, as in `GET /v1/files/*`. */
export function createForwardRules(rules: readonly string[]): MayForward {
  const wrong = rules.find((rule) => !RULE.test(rule))
  if (wrong !== undefined)
    throw new Error(`forward: "${wrong}" is not a rule; write a method and a path, as in "GET /v1/files/*"`)
  const patterns = [...ALWAYS, ...rules].map((rule) => rule.split('/'))
  return (method, path) => {
    const parts = `${method} ${path}`.split('/')
    return patterns.some((pattern) => pattern.length === parts.length && pattern.every(fits(parts)))
  }
}

/** `*` matches no escapes, dots or empty segments: an upstream could resolve them to a path outside the rule. */
function fits(parts: readonly string[]): (segment: string, index: number) => boolean {
  return (segment, index) => {
    const part = parts[index] ?? ''
    return segment === '*' ? /^[\w.:@~-]+$/.test(part) && !/^\.+$/.test(part) : segment === part
  }
}
