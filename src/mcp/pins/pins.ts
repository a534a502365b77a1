// Pins definitions: remembers each tool, prompt and instruction text of a server as it was first seen or last
// accepted, and reports what is different now.
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import type { StateStore } from '../../store/index.ts'
import type { ListedTool } from '../types.ts'
import { fingerprint, pinnedParts } from './fingerprint.ts'
import { openPinFiles, type Pin, type PinKind, type PinnedTools, pinKey, type Seen } from './pin-files.ts'
import { openStoredPins } from './stored-pins.ts'

/** A definition that differs from the accepted one. */
export type DefinitionChange = {
  readonly kind: PinKind
  /** Name of the tool or prompt; `instructions` for instructions. */
  readonly name: string
  /** The accepted definition. */
  readonly before: ListedTool
  /** The definition last seen. */
  readonly after: ListedTool
  /** When the difference was first seen, in ISO format. */
  readonly since: string
  /** False if a definition was too large to be stored: `before`, or after a restart `after`, has only a name. */
  readonly isWhole: boolean
}

/** How a server's definitions differ from its pins. */
export type Verdict = {
  /** Changed definitions. Reported every time until they are accepted. */
  readonly changed: readonly DefinitionChange[]
  /** New since the last check, on a server that had pins. Reported once. */
  readonly added: readonly string[]
  /** Missing since the last check. Reported once; their pins stay. */
  readonly removed: readonly string[]
}

/** The pins of a server. */
export type PinnedServer = {
  readonly server: string
  /** Names of its pinned tools. */
  readonly tools: readonly string[]
  /** Names of its pinned prompts. */
  readonly prompts: readonly string[]
  readonly changed: readonly DefinitionChange[]
}

/** Definitions as first seen, to detect changes. */
export type Pins = {
  /** Pins what is new of one kind and reports what changed. The caller decides what to do about a change. */
  judge(server: string, listed: readonly ListedTool[], kind?: PinKind): Promise<Verdict>
  /**
   * Accepts the newest definitions, of all or of the named ones, of one kind or of all; returns the names of what
   * changed.
   */
  accept(server: string, names?: readonly string[], kind?: PinKind): Promise<readonly string[]>
  /** Undoes accepting changes of one kind; returns the names of those that were accepted. */
  hold(server: string, names: readonly string[], kind?: PinKind): Promise<readonly string[]>
  /** Deletes the pins of a server; returns false if it had none. */
  forget(server: string): Promise<boolean>
  /** Returns every server that has pins, with its changes. */
  list(): Promise<readonly PinnedServer[]>
}

/** Options of `openPins`. */
export type PinsOptions = {
  /** Where to store pins; undefined keeps them in memory only. */
  readonly folder: string | undefined
  /** Stores pins in a store that replicas share, instead of the folder. */
  readonly store?: StateStore | undefined
  readonly now?: () => number
  /** Called with problems of the files; nothing here ever rejects. */
  readonly notify?: (message: string) => void
}

/** Characters of one definition as JSON. Of a longer one, only the hash is stored. */
const MAX_DEFINITION_LENGTH = 65_536
/** Missing tools beyond this number are forgotten, the latest first, so that a flood cannot evict the others. */
const MAX_MISSING = 10_000

const SLICE_TOOLS = 20

const none: PinnedTools = new Map()

/**
 * Returns `$XDG_STATE_HOME/toolshelf/pins`, else `~/.local/state/toolshelf/pins`; undefined for a user without a home.
 */
export function defaultPinsFolder(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  const { XDG_STATE_HOME: state } = environment
  if (state !== undefined && isAbsolute(state)) return join(state, 'toolshelf', 'pins')
  try {
    return join(homedir(), '.local', 'state', 'toolshelf', 'pins')
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
  const files = store ? openStoredPins(store, notify) : openPinFiles(folder, notify)
  const stamp = () => new Date(now()).toISOString()
  let last: Promise<unknown> = Promise.resolve()
  /** Runs one change after the other, so that what was read is still current when it is written. */
  const inTurn = <Result>(server: string, work: () => Promise<Result>): Promise<Result> => {
    const result = last.then(() => files.alone(server, work))
    last = result.catch(() => {})
    return result
  }
  /** Replaces the pins for which `next` returns another; returns their names. */
  const change = (server: string, next: (pin: Pin) => Pin | undefined) =>
    inTurn(server, async () => {
      const pins = new Map((await files.read(server)) ?? none)
      const changed: string[] = []
      for (const [key, pin] of pins) {
        const replaced = next(pin)
        if (!replaced) continue
        pins.set(key, replaced)
        changed.push(pin.name)
      }
      if (changed.length > 0) await files.write(server, pins)
      return changed
    }).then(async (changed) => {
      if (changed.length > 0) await files.announce?.(server)
      return changed
    })
  return {
    judge: (server, listed, kind = 'tool') =>
      inTurn(server, async () => {
        const known = (await files.read(server)) ?? none
        const { pins, verdict } = compare(known, await byName(listed), kind, stamp())
        if (!isSame(pins, known)) await files.write(server, pins)
        return verdict
      }),
    accept: (server, names, kind) =>
      change(server, (pin) => {
        const { newest, accepted, ...rest } = pin
        const isMeant = (names?.includes(pin.name) ?? true) && (kind ?? kindOf(pin)) === kindOf(pin)
        return newest && isMeant
          ? { ...rest, accepted: { ...newest, since: stamp() }, previous: accepted }
          : undefined
      }),
    hold: (server, names, kind = 'tool') =>
      change(server, (pin) => {
        const { previous, accepted, newest, ...rest } = pin
        const isMeant = names.includes(pin.name) && kindOf(pin) === kind
        return previous && isMeant ? { ...rest, accepted: previous, newest: newest ?? accepted } : undefined
      }),
    forget: (server) => inTurn(server, () => files.remove(server)),
    list: async () => {
      await last
      return [...(await files.all())].map(pinned)
    },
  }
}

/** Returns a checker that compares only servers that have pins; the gateway pins others for the first time. */
export function comparePinned(pins: Pins): Pick<Pins, 'judge'> {
  const pinned = pins.list().then((servers) => new Set(servers.map(({ server }) => server)))
  const nothing: Verdict = { changed: [], added: [], removed: [] }
  return {
    judge: async (server, listed, kind) =>
      (await pinned).has(server) ? pins.judge(server, listed, kind) : nothing,
  }
}

function pinned([server, all]: readonly [string, PinnedTools]): PinnedServer {
  const pins = [...all.values()]
  const namesOf = (kind: PinKind) => pins.filter((pin) => kindOf(pin) === kind).map(({ name }) => name)
  return {
    server,
    tools: namesOf('tool'),
    prompts: namesOf('prompt'),
    changed: pins.flatMap((pin) => changeOf(pin) ?? []),
  }
}

function kindOf({ kind }: Pin): PinKind {
  return kind ?? 'tool'
}

/** Returns the pins to store (unchanged ones are the same objects) and what to report. */
function compare(
  known: PinnedTools,
  listed: ReadonlyMap<string, SameName>,
  kind: PinKind,
  at: string,
): { readonly pins: PinnedTools; readonly verdict: Verdict } {
  const looks = [...listed].map(([name, group]) => look(known.get(pinKey(kind, name)), group, kind, at))
  const own = [...known.values()].filter((pin) => kindOf(pin) === kind)
  const gone = own.filter(({ name }) => !listed.has(name))
  // Prompts are listed page by page: one that is not on a page is not missing.
  const removed = kind === 'tool' ? gone.filter(({ isMissing }) => !isMissing) : []
  // In the order in which they were first seen.
  const pins = new Map(known)
  for (const { pin } of looks) pins.set(pinKey(kind, pin.name), pin)
  for (const pin of removed) pins.set(pinKey(kind, pin.name), { ...pin, isMissing: true })
  for (const { name } of gone.slice(MAX_MISSING)) pins.delete(pinKey(kind, name))
  return {
    pins,
    verdict: {
      changed: looks.flatMap(({ change }) => change ?? []),
      added: own.length > 0 ? [...listed.keys()].filter((name) => !known.has(pinKey(kind, name))) : [],
      removed: removed.map(({ name }) => name),
    },
  }
}

type Listed = { readonly tool: ListedTool; readonly hash: string }
/** Definitions with the same name: a server may list a name twice, and every definition counts. */
type SameName = [Listed, ...Listed[]]

/**
 * Groups definitions by name, in slices, because the fingerprints of thousands of tools must not block the event loop.
 */
async function byName(tools: readonly ListedTool[]): Promise<ReadonlyMap<string, SameName>> {
  const groups = new Map<string, SameName>()
  for (const [index, tool] of tools.entries()) {
    if (index % SLICE_TOOLS === SLICE_TOOLS - 1) await new Promise((resolve) => setImmediate(resolve))
    const listed = { tool, hash: fingerprint(tool) }
    const others = groups.get(tool.name)
    if (others) others.push(listed)
    else groups.set(tool.name, [listed])
  }
  return groups
}

function look(
  known: Pin | undefined,
  listed: SameName,
  kind: PinKind,
  at: string,
): { readonly pin: Pin; readonly change: DefinitionChange | undefined } {
  const accepted = known?.accepted ?? see(listed[0], at)
  const other = listed.find(({ hash }) => hash !== accepted.hash)
  const newest = other && renew(known?.newest, other, at)
  const { name } = listed[0].tool
  const previous = known?.previous
  const pin: Pin = {
    ...(kind === 'tool' ? {} : { kind }),
    name,
    accepted,
    ...(previous && { previous }),
    ...(newest && { newest }),
  }
  const isSame = known !== undefined && !known.isMissing && known.newest === newest
  return { pin: isSame ? known : pin, change: changeOf(pin, other?.tool) }
}

function see({ tool, hash }: Listed, since: string): Seen {
  const definition = small(tool)
  return { hash, since, ...(definition && { definition }) }
}

/** Updates the newest version; one that changes again keeps the time of its first change. */
function renew(newest: Seen | undefined, other: Listed, at: string): Seen {
  return newest?.hash === other.hash ? newest : see(other, newest?.since ?? at)
}

function changeOf(pin: Pin, live?: ListedTool): DefinitionChange | undefined {
  const { name, accepted, newest } = pin
  const after = live ?? newest?.definition
  return (
    newest && {
      kind: kindOf(pin),
      name,
      before: accepted.definition ?? { name },
      after: after ?? { name },
      since: newest.since,
      isWhole: accepted.definition !== undefined && after !== undefined,
    }
  )
}

/** Returns the parts that count, if they are small enough to be stored. */
function small(tool: ListedTool): ListedTool | undefined {
  const definition = pinnedParts(tool) as ListedTool
  try {
    return JSON.stringify(definition).length <= MAX_DEFINITION_LENGTH ? definition : undefined
  } catch {
    return undefined // Nested too deeply, or cyclic.
  }
}

function isSame(one: PinnedTools, other: PinnedTools): boolean {
  return one.size === other.size && [...one].every(([key, pin]) => other.get(key) === pin)
}
