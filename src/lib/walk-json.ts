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
  const waiting: JsonNode[] = [{ path, key: path, value }]
  for (let place = waiting.pop(); place; place = waiting.pop()) {
    yield place
    if (!isContainer(place.value) || opened.has(place.value) || isWhole(place.value)) continue
    opened.add(place.value)
    for (const inside of placesIn(place.path, place.value).reverse()) waiting.push(inside)
  }
}

/** Returns whether a value is an object or an array. */
export function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Lists the values in a container. No two have the same path, so that a diff cannot confuse them. */
function placesIn(path: string, value: object): JsonNode[] {
  if (Array.isArray(value))
    return value.map((item, index) => ({ path: `${path}[${index}]`, key: '', value: item }))
  return Object.entries(value).map(([key, item]) => ({
    path: /^[\w$-]+$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`,
    key,
    value: item,
  }))
}
