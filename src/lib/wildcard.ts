// Matches tool names against patterns with `*`. Uses no regular expressions: names come from servers, clients and
// models, and some would make an expression backtrack forever.

/** Returns whether a name matches any of the patterns. */
export function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => matches(name, pattern))
}

function matches(name: string, pattern: string): boolean {
  const [start = '', ...inner] = pattern.split('*')
  const end = inner.pop()
  if (end === undefined) return name === pattern
  const last = name.length - end.length
  let at = start.length
  if (at > last || !name.startsWith(start) || !name.endsWith(end)) return false
  return inner.every((part) => {
    const found = name.indexOf(part, at)
    at = found + part.length
    return found >= 0 && at <= last
  })
}
