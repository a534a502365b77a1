// Iterates over all values in a JSON value without recursion: untrusted definitions may be deep, huge or cyclic.
import type { Fields } from './json.ts'

/** A value inside a JSON value, and where it is. */
export type JsonNode = {
  /** The path as one would write it: `properties.path.description`, `anyOf[1]`, `properties["a.b"]`. */
  readonly path: string
  /** The key of the value; for the root, its path; empty inside arrays. */
  readonly key: string
  readonly value: unknown
}

/**
 * Yields values in reading order, each container before its content; does not descend into those that are `whole`. No two
 * have the same path, so that a diff cannot confuse them.
 */
export function* walkJson(
  value: unknown,
  path: string,
  isWhole: (value: object) => boolean = () => false,
): Generator<JsonNode> {
  const opened = new Set<object>()
  const open: Opened[] = []
  for (let place: Place | undefined = new Place(path, value, path); place; place = nextIn(open)) {
    yield place
    const inside = place.value
    if (!isContainer(inside) || opened.has(inside) || isWhole(inside)) continue
    opened.add(inside)
    open.push({ place, inside, keys: Array.isArray(inside) ? undefined : Object.keys(inside), at: 0 })
  }
}

/** Returns whether a value is an object or an array. */
export function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** A container whose values from `at` on are still to come. */
type Opened = {
  readonly place: Place
  readonly inside: object
  /** Undefined for an array. */
  readonly keys: readonly string[] | undefined
  at: number
}

function nextIn(open: Opened[]): Place | undefined {
  for (let last = open.at(-1); last; last = open.at(-1)) {
    const { place, inside, keys } = last
    const index = last.at++
    const name = keys ? keys[index] : index
    if (name !== undefined && index < (keys ?? (inside as readonly unknown[])).length)
      return new Place(keys ? String(name) : '', (inside as Fields)[name], name, place)
    open.pop()
  }
  return undefined
}

/** A value whose path is only written if somebody reads it: there may be millions. */
class Place implements JsonNode {
  readonly key: string
  readonly value: unknown
  readonly #name: string | number
  readonly #inside: Place | undefined
  #path: string | undefined

  constructor(key: string, value: unknown, name: string | number, inside?: Place) {
    this.key = key
    this.value = value
    this.#name = name
    this.#inside = inside
    if (!inside) this.#path = key
  }

  get path(): string {
    const unwritten: Place[] = []
    let place: Place = this
    for (; place.#path === undefined && place.#inside; place = place.#inside) unwritten.push(place)
    let path = place.#path ?? ''
    for (const one of unwritten.reverse()) {
      path += step(one.#name)
      one.#path = path
    }
    return path
  }
}

function step(name: string | number): string {
  if (typeof name === 'number') return `[${name}]`
  return /^[\w$-]+$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`
}
