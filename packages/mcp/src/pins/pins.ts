// Remembers what servers said when it was accepted, and reports what is new or different.
import { createHash } from 'node:crypto'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { errorMessage, isContainer, type StateStore, toJson, wellFormedJson } from '@toolshelf/core/internal'
import type { ListedTool } from '../types.ts'
import { filePlace, type PinPlace, storePlace } from './places.ts'

/** What is recorded: tools, prompts and a server's instructions. */
export type PinKind = 'tool' | 'prompt' | 'instructions'

/** A version of a definition: when it was first seen, or the first change that waits; without text if that is too large. */
type Seen = { readonly hash: string; readonly since: string; readonly definition?: ListedTool }

/** A definition: the accepted version, unless it is new, and a newer one. */
type Pin = {
  readonly kind: PinKind
  readonly name: string
  readonly accepted?: Seen
  readonly newest?: Seen
}

/** Pins by kind and name, and the kinds that have been listed, of which what is not in `pins` is new. */
type PinRecord = { readonly listed: readonly PinKind[]; readonly pins: ReadonlyMap<string, Pin> }

/** A definition that differs from the accepted one, or is new. */
export type DefinitionChange = {
  readonly kind: PinKind
  /** Name of the tool or prompt; `instructions` for instructions. */
  readonly name: string
  /** The accepted definition; only the name if it is new. */
  readonly before: ListedTool
  /** The definition last seen. */
  readonly after: ListedTool
  /** When the difference was first seen, in ISO format. */
  readonly since: string
  /** False if a definition is too large to be stored: `before`, or after a restart `after`, has only a name. */
  readonly isWhole: boolean
}

/** What is known of a server: the names of its tools and prompts, and what changed. */
export type PinnedServer = {
  readonly server: string
  readonly tools: readonly string[]
  readonly prompts: readonly string[]
  readonly changed: readonly DefinitionChange[]
}

/** What becomes of what the record does not contain: it is accepted, held as a change, or left to others. */
export type OnNew = 'accept' | 'hold' | 'skip'

/** What servers said when it was accepted. No method rejects. */
export type Pins = {
  /** Records what a server lists of a kind and returns what changed. The first list of a kind is accepted, unless it is skipped. */
  judge(
    server: string,
    listed: readonly ListedTool[],
    kind?: PinKind,
    onNew?: OnNew,
  ): Promise<readonly DefinitionChange[]>
  /** Accepts the newest definitions, of all or of the named ones, of one kind or of all; returns the names. */
  accept(server: string, names?: readonly string[], kind?: PinKind): Promise<readonly string[]>
  /** Deletes the record of a server; returns false if it had none. */
  forget(server: string): Promise<boolean>
  /** Returns every server that has a record, with its changes. */
  list(): Promise<readonly PinnedServer[]>
}

type PinsOptions = {
  /** Where to keep records; undefined keeps them in memory only. */
  readonly folder: string | undefined
  /** Keeps them in a store that replicas share, instead of the folder. */
  readonly store?: StateStore | undefined
  readonly now?: () => number
  /** Called with problems of the folder or the store. */
  readonly notify?: (message: string) => void
}

const EMPTY: PinRecord = { listed: [], pins: new Map() }
/** Definitions that are not listed now; of more the latest are forgotten, so that a flood cannot evict others. */
const MAX_GONE = 10_000
/** Fingerprints of thousands of tools must not block the event loop. */
const SLICE_TOOLS = 20

/** Returns `$XDG_STATE_HOME/toolshelf/pins`, else `~/.local/state/toolshelf/pins`; undefined without a home. */
export function defaultPinsFolder({ XDG_STATE_HOME: state } = process.env): string | undefined {
  try {
    return join(state && isAbsolute(state) ? state : join(homedir(), '.local', 'state'), 'toolshelf', 'pins')
  } catch {
    return undefined
  }
}

/**
 * Opens the pins in a folder; `createMcpHost` compares what servers list with them.
 *
 * @example
 * const host = createMcpHost({ shelf, servers, pins: openPins({ folder: '/var/lib/agent/pins' }), onChange: 'hold' })
 */
export function openPins({ folder, store, now = Date.now, notify = () => {} }: PinsOptions): Pins {
  const place = store ? storePlace(store) : folder === undefined ? undefined : filePlace(folder)
  const records = new Records(place, notify)
  const stamp = () => new Date(now()).toISOString()

  /** Replaces the pins for which `next` returns another; returns their names. */
  async function change(server: string, next: (pin: Pin) => Pin | undefined): Promise<readonly string[]> {
    const changed: string[] = []
    await records.change(server, (record = EMPTY) => {
      const pins = new Map(record.pins)
      for (const [key, pin] of pins) {
        const replaced = next(pin)
        if (replaced) changed.push(pins.set(key, replaced) && pin.name)
      }
      return changed.length > 0 ? { ...record, pins } : undefined
    })
    if (changed.length > 0) await place?.announce?.(server).catch(records.fail)
    return changed
  }

  return {
    async judge(server, listed, kind = 'tool', onNew = 'accept') {
      const versions = await versionsOf(listed, stamp())
      let changes: readonly DefinitionChange[] = []
      await records.change(server, (record) => {
        if (!record && onNew === 'skip') return undefined
        const judged = compare(record ?? EMPTY, versions, kind, onNew)
        changes = judged.changes
        return judged.record
      })
      return changes
    },
    accept: (server, names, kind) =>
      change(server, ({ newest, ...pin }) => {
        const isMeant = (names?.includes(pin.name) ?? true) && (kind ?? pin.kind) === pin.kind
        return newest && isMeant ? { ...pin, accepted: { ...newest, since: stamp() } } : undefined
      }),
    async forget(server) {
      let isKnown = false
      await records.change(server, (record) => {
        isKnown = record !== undefined
        return isKnown ? null : undefined
      })
      return isKnown
    },
    list: async () =>
      [...(await records.all())].map(([server, { pins }]) => {
        const all = [...pins.values()]
        const namesOf = (kind: PinKind) => all.flatMap((pin) => (pin.kind === kind ? pin.name : []))
        const changed = all.flatMap((pin) => changeOf(pin) ?? [])
        return { server, tools: namesOf('tool'), prompts: namesOf('prompt'), changed }
      }),
  }
}

/** Returns the new record; null deletes it, undefined leaves it as it is. */
type Next = (record?: PinRecord) => PinRecord | null | undefined

/** Reads and changes records, one after the other. What cannot be written counts for this run. */
class Records {
  readonly #place: PinPlace | undefined
  readonly #notify: (message: string) => void
  /** As last read or written. */
  readonly #known = new Map<string, PinRecord>()
  /** Servers whose record could not be written: what is known of them is newer than what is stored. */
  readonly #unsaved = new Set<string>()
  #last: Promise<unknown> = Promise.resolve()
  #hasFailed = false

  constructor(place: PinPlace | undefined, notify: (message: string) => void) {
    this.#place = place
    this.#notify = notify
  }

  readonly fail = (error: unknown): void => {
    const reason = errorMessage(error)
    if (!this.#hasFailed)
      this.#notify(`cannot use the pins in ${this.#place?.name} (${reason}); they apply to this run only.`)
    this.#hasFailed = true
  }

  change(server: string, next: Next): Promise<void> {
    let running: Promise<void> | undefined
    const work = () => {
      running ??= this.#changeNow(server, next)
      return running
    }
    // Without a lock nothing can be written either. Work that has begun does not run twice.
    const done = this.#last.then(() => this.#place?.alone(server, work).catch(work) ?? work())
    this.#last = done.catch(() => {})
    return done
  }

  async #changeNow(server: string, next: Next): Promise<void> {
    let isReadable = true
    await this.#read(server).catch((error) => {
      // It may be there: it is not overwritten.
      isReadable = false
      this.fail(error)
    })
    const record = next(this.#known.get(server))
    if (record === undefined) return
    if (record) this.#known.set(server, record)
    else this.#known.delete(server)
    const json = record ? printRecord(server, record) : undefined
    this.#unsaved.add(server)
    const isSaved = isReadable && this.#place?.set(server, json).then(() => true, this.fail)
    if (!(await isSaved)) return
    this.#unsaved.delete(server)
    this.#hasFailed = false
  }

  async #read(server: string): Promise<void> {
    const text = await this.#place?.get(server)
    try {
      if (text !== undefined) this.#known.set(server, parseRecord(text))
      else if (!this.#unsaved.has(server)) this.#known.delete(server)
    } catch (error) {
      this.#known.delete(server)
      this.#notify(
        `the pins of "${server}" are broken (${errorMessage(error)}) and set aside; it is pinned again.`,
      )
      await this.#place?.setAside?.(server)
    }
  }

  async all(): Promise<ReadonlyMap<string, PinRecord>> {
    await this.#last
    const texts = await this.#place?.all().catch(this.fail)
    const found = new Map([...this.#known].filter(([server]) => !texts || this.#unsaved.has(server)))
    for (const text of texts ?? []) {
      try {
        const record = parseRecord(text)
        found.set(record.server, record)
      } catch (error) {
        this.#notify(`pins in ${this.#place?.name} are broken (${errorMessage(error)}); they are left out.`)
      }
    }
    return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}

type Version = { readonly tool: ListedTool; readonly seen: Seen }

/** Returns definitions by name: a server may list a name twice, and every definition counts. */
async function versionsOf(tools: readonly ListedTool[], at: string): Promise<ReadonlyMap<string, Version[]>> {
  const groups = new Map<string, Version[]>()
  for (const [index, tool] of tools.entries()) {
    if (index % SLICE_TOOLS === SLICE_TOOLS - 1) await new Promise((resolve) => setImmediate(resolve))
    groups.set(tool.name, [...(groups.get(tool.name) ?? []), { tool, seen: see(tool, at) }])
  }
  return groups
}

/** Returns the changes, and the record with what is listed; undefined if it stays as it is. */
function compare(
  { listed, pins: known }: PinRecord,
  versions: ReadonlyMap<string, readonly Version[]>,
  kind: PinKind,
  onNew: OnNew,
): { readonly record: PinRecord | undefined; readonly changes: readonly DefinitionChange[] } {
  const isFirst = !listed.includes(kind)
  const pins = new Map(known)
  const changes: DefinitionChange[] = []
  for (const [name, group] of versions) {
    const pin = known.get(`${kind} ${name}`)
    if (!pin && onNew === 'skip') continue
    const isNew = !pin?.accepted && onNew !== 'skip' && (isFirst || onNew === 'accept')
    const accepted = isNew ? group[0]?.seen : pin?.accepted
    const other = group.find(({ seen }) => seen.hash !== accepted?.hash)
    const isSeen = other?.seen.hash === pin?.newest?.hash
    // What changes again waits since its first change.
    const newest =
      other && (isSeen ? pin?.newest : { ...other.seen, since: pin?.newest?.since ?? other.seen.since })
    const { newest: _, ...rest } = pin ?? { kind, name }
    const next: Pin = { ...rest, ...(accepted && { accepted }), ...(newest && { newest }) }
    if (isNew || !isSeen) pins.set(`${kind} ${name}`, next)
    const change = changeOf(next, other?.tool)
    if (change) changes.push(change)
  }
  const gone = [...known].filter(([, pin]) => pin.kind === kind && !versions.has(pin.name))
  // What was never accepted and is not listed is nothing to remember; the rest stays, so that coming back accepts nothing.
  for (const [index, [key, { accepted }]] of gone.entries())
    if (!accepted || index >= MAX_GONE) pins.delete(key)
  const isListed = isFirst && onNew !== 'skip'
  const isSame =
    !isListed && pins.size === known.size && [...pins].every(([key, pin]) => known.get(key) === pin)
  return { record: isSame ? undefined : { listed: isListed ? [...listed, kind] : listed, pins }, changes }
}

function changeOf({ kind, name, accepted, newest }: Pin, live?: ListedTool): DefinitionChange | undefined {
  if (!newest) return undefined
  const { since, definition: after = live } = newest
  const isWhole = (!accepted || accepted.definition !== undefined) && after !== undefined
  const before = accepted?.definition ?? { name }
  return { kind, name, before, after: live ?? after ?? { name }, since, isWhole }
}

const VERSION = 2
/** Characters of definitions in one record, and of one definition; of what is beyond only hashes are stored. */
const MAX_CHARACTERS = 4_000_000
const MAX_DEFINITION_LENGTH = 65_536

/** Writes one line per definition, so that records are easy to compare. */
function printRecord(server: string, { listed, pins }: PinRecord): string {
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
function parseRecord(text: string): PinRecord & { readonly server: string } {
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
function see(tool: ListedTool, since: string): Seen {
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
