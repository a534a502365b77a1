// Pins: what each tool, prompt and instruction of a server looked like when it was first seen, or last accepted, and what
// is different now.
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import type { ListedTool } from '../types.ts'
import { fingerprint, partsOf } from './fingerprint.ts'
import { openPinFiles, type Pin, type PinKind, type PinnedTools, pinKey, type Seen } from './pin-files.ts'

export type Change = {
  readonly kind: PinKind
  /** Of the tool or prompt; instructions are called so. */
  readonly name: string
  /** As it was accepted. */
  readonly before: ListedTool
  /** As it was last seen. */
  readonly after: ListedTool
  /** When it was first seen to be different, in ISO form. */
  readonly since: string
  /** False when a definition was too large to be kept: `before`, or after a restart `after`, is only a name. */
  readonly isWhole: boolean
}

export type Verdict = {
  /** Told again at every look until they are accepted. */
  readonly changed: readonly Change[]
  /** New since the last look, on a server that had pins. Told once. */
  readonly added: readonly string[]
  /** Gone since the last look. Told once; their pins stay. */
  readonly removed: readonly string[]
}

export type PinnedServer = {
  readonly server: string
  /** Names of its pinned tools. */
  readonly tools: readonly string[]
  /** Names of its pinned prompts. */
  readonly prompts: readonly string[]
  readonly changed: readonly Change[]
}

export type Pins = {
  /** Pins what is new of one kind and reports what changed. What follows from a change is for the caller to decide. */
  judge(server: string, listed: readonly ListedTool[], kind?: PinKind): Promise<Verdict>
  /** Makes the newest definitions the accepted ones, of all or of those named; returns the names of what changed. */
  accept(server: string, names?: readonly string[]): Promise<readonly string[]>
  /** False when the server had no pins. */
  forget(server: string): Promise<boolean>
  list(): Promise<readonly PinnedServer[]>
}

export type PinsOptions = {
  /** Undefined: in memory only. */
  readonly folder: string | undefined
  readonly now?: () => number
  /** Hears what went wrong with the files; nothing here ever rejects. */
  readonly notify?: (message: string) => void
}

/** Of one definition, as JSON. Of a longer one only the hash is kept. */
const LONGEST_DEFINITION = 65_536
/** Missing tools beyond this are forgotten: those that came last, so that no crowd can push the others out. */
const MOST_MISSING = 10_000

const SLICE_TOOLS = 20

const none: PinnedTools = new Map()

/** `$XDG_STATE_HOME/toolshelf/pins`, else `~/.local/state/toolshelf/pins`; undefined for a user without a home. */
export function defaultPinsFolder(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  const { XDG_STATE_HOME: state } = environment
  if (state !== undefined && isAbsolute(state)) return join(state, 'toolshelf', 'pins')
  try {
    return join(homedir(), '.local', 'state', 'toolshelf', 'pins')
  } catch {
    return undefined
  }
}

export function openPins({ folder, now = Date.now, notify = () => {} }: PinsOptions): Pins {
  const files = openPinFiles(folder, notify)
  const stamp = () => new Date(now()).toISOString()
  let last: Promise<unknown> = Promise.resolve()
  /** One after the other, so that what is read is still true when it is written. */
  const inTurn = <Result>(server: string, work: () => Promise<Result>): Promise<Result> => {
    const result = last.then(() => files.alone(server, work))
    last = result.catch(() => {})
    return result
  }
  return {
    judge: (server, listed, kind = 'tool') =>
      inTurn(server, async () => {
        const known = (await files.read(server)) ?? none
        const { pins, verdict } = compare(known, await byName(listed), kind, stamp())
        if (!isSame(pins, known)) await files.write(server, pins)
        return verdict
      }),
    accept: (server, names) =>
      inTurn(server, async () => {
        const pins = new Map((await files.read(server)) ?? none)
        const waiting = [...pins].filter(([, { name, newest }]) => newest && (names?.includes(name) ?? true))
        for (const [key, { newest, ...pin }] of waiting)
          pins.set(key, { ...pin, accepted: { ...newest!, since: stamp() } })
        if (waiting.length > 0) await files.write(server, pins)
        return waiting.map(([, { name }]) => name)
      }),
    forget: (server) => inTurn(server, () => files.remove(server)),
    list: async () => {
      await last
      return [...(await files.all())].map(pinned)
    },
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

/** What is to be kept now, pins that stay as they are by identity, and what to tell. */
function compare(
  known: PinnedTools,
  listed: ReadonlyMap<string, SameName>,
  kind: PinKind,
  at: string,
): { readonly pins: PinnedTools; readonly verdict: Verdict } {
  const looks = [...listed].map(([name, group]) => look(known.get(pinKey(kind, name)), group, kind, at))
  const own = [...known.values()].filter((pin) => kindOf(pin) === kind)
  const gone = own.filter(({ name }) => !listed.has(name))
  // Prompts are listed page by page: one that is not on a page has not gone.
  const removed = kind === 'tool' ? gone.filter(({ isMissing }) => !isMissing) : []
  // In the order in which they were first seen.
  const pins = new Map(known)
  for (const { pin } of looks) pins.set(pinKey(kind, pin.name), pin)
  for (const pin of removed) pins.set(pinKey(kind, pin.name), { ...pin, isMissing: true })
  for (const { name } of gone.slice(MOST_MISSING)) pins.delete(pinKey(kind, name))
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
/** A server may list a name twice: each of the definitions counts. */
type SameName = [Listed, ...Listed[]]

/** In slices: the fingerprints of thousands of tools must hold up nobody else. */
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
): { readonly pin: Pin; readonly change: Change | undefined } {
  const accepted = known?.accepted ?? see(listed[0], at)
  const other = listed.find(({ hash }) => hash !== accepted.hash)
  const newest = other && renew(known?.newest, other, at)
  const { name } = listed[0].tool
  const pin: Pin = { ...(kind === 'tool' ? {} : { kind }), name, accepted, ...(newest && { newest }) }
  const isSame = known !== undefined && !known.isMissing && known.newest === newest
  return { pin: isSame ? known : pin, change: changeOf(pin, other?.tool) }
}

function see({ tool, hash }: Listed, since: string): Seen {
  const definition = small(tool)
  return { hash, since, ...(definition && { definition }) }
}

/** A definition that changes again still waits since its first change. */
function renew(newest: Seen | undefined, other: Listed, at: string): Seen {
  return newest?.hash === other.hash ? newest : see(other, newest?.since ?? at)
}

function changeOf(pin: Pin, live?: ListedTool): Change | undefined {
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

/** The parts that count, if they are small enough to be kept. */
function small(tool: ListedTool): ListedTool | undefined {
  const definition = partsOf(tool) as ListedTool
  try {
    return JSON.stringify(definition).length <= LONGEST_DEFINITION ? definition : undefined
  } catch {
    return undefined // Too deep to be written, or a circle.
  }
}

function isSame(one: PinnedTools, other: PinnedTools): boolean {
  return one.size === other.size && [...one].every(([key, pin]) => other.get(key) === pin)
}
