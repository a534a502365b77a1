// Iterates over all values in a JSON value without recursion: untrusted definitions may be deep, huge or cyclic.

/** A value inside a JSON value, and where it is. */
export type JsonNode = {
  /** The path as one would write it: `properties.path.description`, `anyOf[1]`, `properties["a.b"]`. */
  readonly path: string
  /** The key of the value; for the root, its path; empty inside arrays. */
  readonly key: string
  readonly value: unknown
}

/** Yields values in reading order, each container before its content; does not descend into those that are `whole`. */
export function* walkJson(
  value: unknown,
  path: string,
  isWhole: (value: object) => boolean = () => false,
): Generator<JsonNode> {
  const opened = new Set<object>()
  const open: Iterator<JsonNode>[] = [[{ path, key: path, value }].values()]
  for (let last = open.at(-1); last; last = open.at(-1)) {
    const { value: node, done } = last.next()
    if (done) {
      open.pop()
      continue
    }
    yield node
    if (!isContainer(node.value) || opened.has(node.value) || isWhole(node.value)) continue
    opened.add(node.value)
    open.push(nodesIn(node.path, node.value))
  }
}

/** Returns whether a value is an object or an array. */
export function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Yields the values in a container, of which there may be millions. No two have the same path, so that a diff cannot confuse them. */
function* nodesIn(path: string, inside: object): Generator<JsonNode> {
  if (Array.isArray(inside))
    for (const [index, value] of inside.entries()) yield { path: `${path}[${index}]`, key: '', value }
  else
    for (const [key, value] of Object.entries(inside))
      yield { path: /^[\w$-]+$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`, key, value }
}
