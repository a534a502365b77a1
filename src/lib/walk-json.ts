// Iterates over all values in a JSON value without recursion: untrusted definitions may be deep, huge or cyclic.

export type JsonNode = {
  /** As one would write it: `properties.path.description`, `anyOf[1]`, `properties["a.b"]`. */
  readonly path: string
  /** The key of the value; for the root, its path; empty inside arrays. */
  readonly key: string
  readonly value: unknown
}

/** In the order of reading, containers before what they hold; those that are `whole` are not opened. */
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

export function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Two places never have the same path, so that a diff cannot mix them up. */
function placesIn(path: string, value: object): JsonNode[] {
  if (Array.isArray(value))
    return value.map((item, index) => ({ path: `${path}[${index}]`, key: '', value: item }))
  return Object.entries(value).map(([key, item]) => ({
    path: /^[\w$-]+$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`,
    key,
    value: item,
  }))
}
