// The record of one server: every tool, prompt and the instructions as they were accepted, and as they are now.
import { createHash } from 'node:crypto'
import { isContainer, toJson, wellFormedJson } from '../../lib/index.ts'
import type { ListedTool } from '../types.ts'

/** What is recorded: tools, prompts and a server's instructions. */
export type PinKind = 'tool' | 'prompt' | 'instructions'

/** A version of a definition: when it was first seen, or the first change that waits; without text if that is too large. */
export type Seen = { readonly hash: string; readonly since: string; readonly definition?: ListedTool }

/** A definition: the accepted version, unless it is new, and a newer one. */
export type Pin = {
  readonly kind: PinKind
  readonly name: string
  readonly accepted?: Seen
  readonly newest?: Seen
}

/** Pins by kind and name, and the kinds that have been listed, of which what is not in `pins` is new. */
export type PinRecord = { readonly listed: readonly PinKind[]; readonly pins: ReadonlyMap<string, Pin> }

const VERSION = 2
/** Characters of definitions in one record, and of one definition; of what is beyond only hashes are stored. */
const MAX_CHARACTERS = 4_000_000
const MAX_DEFINITION_LENGTH = 65_536

/** Writes one line per definition, so that records are easy to compare. */
export function printRecord(server: string, { listed, pins }: PinRecord): string {
  let left = MAX_CHARACTERS
  const lines = [...pins.values()].map((pin) => {
    const json = left > 0 ? JSON.stringify(pin) : ''
    left -= json.length
    return left > 0 ? json : JSON.stringify(pin, (key, value) => (key === 'definition' ? undefined : value))
  })
  const head = `"version":${VERSION},"server":${JSON.stringify(server)},"listed":${JSON.stringify(listed)}`
  return wellFormedJson(`{${head},"pins":[\n${lines.join(',\n')}\n]}\n`)
}

/** Reads a record and the name of its server; throws if it is not valid. */
export function parseRecord(text: string): PinRecord & { readonly server: string } {
  const { version, server, listed, pins } = JSON.parse(text) ?? {}
  if (version !== VERSION) throw new Error('it is of another version')
  if (typeof server !== 'string' || !Array.isArray(listed) || !Array.isArray(pins) || !pins.every(isPin))
    throw new Error('it does not contain pins')
  return { server, listed, pins: new Map(pins.map((pin: Pin) => [`${pin.kind} ${pin.name}`, pin])) }
}

function isPin(pin: Pin | null): boolean {
  const isSeen = (seen?: Seen) => !seen || (typeof seen.hash === 'string' && typeof seen.since === 'string')
  return typeof pin?.name === 'string' && [pin.accepted, pin.newest].every(isSeen)
}

/** The fields that count. Other metadata (`_meta`, `execution` …) may change freely. */
const PARTS = ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const
const ALWAYS_LOAD = 'anthropic/alwaysLoad'

/** Returns the parts of a definition that count, including the mark that makes a tool always loaded. */
export function pinnedParts(tool: ListedTool): { readonly [part: string]: unknown } {
  const mark = (tool._meta as { readonly [key: string]: unknown } | null | undefined)?.[ALWAYS_LOAD]
  const parts = Object.fromEntries(PARTS.map((part) => [part, tool[part]]))
  return typeof mark === 'boolean' ? { ...parts, _meta: { [ALWAYS_LOAD]: mark } } : parts
}

/** Returns a version of a definition. The order of keys does not matter; the order of lists does. */
export function see(tool: ListedTool, since: string): Seen {
  const parts = pinnedParts(tool)
  const hash = createHash('sha256')
    .update(spelled(Object.values(parts)))
    .digest('hex')
  const json = toJson(parts)
  const isSmall = json.length <= MAX_DEFINITION_LENGTH && json.startsWith('{')
  return isSmall ? { hash, since, definition: parts as ListedTool } : { hash, since }
}

/** Writes the keys of a container in front of its content, so that no two values read the same. No recursion. */
function spelled(whole: unknown): string {
  let text = ''
  const opened = new Map<object, number>()
  const waiting = [whole]
  while (waiting.length > 0) {
    const value = waiting.pop() as { readonly [key: string]: unknown }
    if (!isContainer(value)) text += `${JSON.stringify(value) ?? 'null'};`
    else if (opened.has(value)) text += `#${opened.get(value)};`
    else {
      opened.set(value, opened.size)
      const keys = Object.keys(value).filter((key) => value[key] !== undefined)
      text += Array.isArray(value) ? `[${value.length};` : `{${JSON.stringify(keys.sort())};`
      for (const key of keys) waiting.push(value[key])
    }
  }
  return text
}
