// Says how servers differ that share a name or look the same in the table of `toolshelf connect`; secrets stay hidden.
import { isDeepStrictEqual } from 'node:util'
import type { ServerConfig } from '@toolshelf/mcp'
import { createTextRedactor, describeTransport } from '@toolshelf/mcp/internal'
import { fit } from '../../terminal/pen.ts'
import type { PlannedServer } from '../plan.ts'

const MAX_COLUMNS = 200

/**
 * Returns one line for each server that was renamed, that the user has narrowed in our file, or that runs the same as one
 * before it.
 */
export function differencesIn(servers: readonly PlannedServer[], ourFile: string): string[] {
  const firsts = new Map<string, PlannedServer>()
  return servers.flatMap((one) => {
    const runs = describeTransport(one.server.transport)
    const first = firsts.get(runs)
    if (!first) firsts.set(runs, one)
    const line = lineAbout(one, first, ourFile)
    return line === undefined ? [] : [fit(line, MAX_COLUMNS)]
  })
}

function lineAbout(
  { name, state, other, server }: PlannedServer,
  first: PlannedServer | undefined,
  ourFile: string,
): string | undefined {
  if (state === 'kept') {
    if (!other?.server) return undefined
    const parts = differences({ name, server: other.server }, { name: 'the client', server }, true)
    return `${name} stays as it is in ${ourFile}: ${parts}.`
  }
  const beside = other ?? first
  if (!beside) return undefined
  if (!beside.server)
    return `${name} has another name: ${ourFile} has a server ${beside.name} that cannot be used.`
  const besideNamed = { name: beside.name, server: beside.server }
  const isSame = other === undefined && differencesOf({ name, server }, besideNamed, false).length === 0
  if (isSame) return `${name} is the same as ${beside.name} under another name.`
  const parts = differences({ name, server }, besideNamed, other !== undefined)
  return `${name} differs from ${beside.name}${other?.isOurs ? ` in ${ourFile}` : ''}: ${parts}.`
}

type Named = { readonly name: string; readonly server: ServerConfig }

/** `isWhole`: with their other settings too, even if what they run tells them apart. */
function differencesOf(one: Named, other: Named, isWhole: boolean): string[] {
  const programs = programsApart(one, other)
  return isWhole || programs.length === 0
    ? [...programs, ...settingsApart(one.server, other.server)]
    : programs
}

function differences(one: Named, other: Named, isWhole: boolean): string {
  const parts = differencesOf(one, other, isWhole)
  return parts.length > 0 ? parts.join('; ') : 'other settings of the entry'
}

/** Shows the parts of a program only beside those of the same one: alone, an argument may be a secret. */
function programsApart(one: Named, other: Named): string[] {
  const runs = [one, other].map(({ server }) => describeTransport(server.transport))
  if (runs[0] !== runs[1]) return [`runs ${runs[0]} instead of ${runs[1]}`]
  const redact = createTextRedactor([one.server, other.server])
  const [here, there] = [programOf(one.server), programOf(other.server)]
  return [
    ...namesApart(here.named, there.named, one.name, other.name),
    ...wordsApart(here.words, there.words, redact),
    ...(here.place === there.place ? [] : [`${redact(here.place)} instead of ${redact(there.place)}`]),
  ]
}

type Program = {
  /** Environment variables or headers. */
  readonly named: { readonly [name: string]: string }
  readonly words: readonly string[]
  /** The URL, or the command and its folder. */
  readonly place: string
}

function programOf({ transport }: ServerConfig): Program {
  if (transport.kind !== 'stdio') return { named: transport.headers, words: [], place: transport.url }
  const { command, args, cwd, env } = transport
  return { named: env, words: args, place: cwd === undefined ? command : `${command} in ${cwd}` }
}

/** Compares values, and shows only their names. */
function namesApart(
  here: Program['named'],
  there: Program['named'],
  hereName: string,
  thereName: string,
): string[] {
  const only = (some: Program['named'], other: Program['named']) =>
    Object.keys(some).filter((name) => !Object.hasOwn(other, name))
  const changed = Object.keys(here).filter((name) => Object.hasOwn(there, name) && here[name] !== there[name])
  return [
    ...changed.map((name) => `another value of ${name}`),
    ...only(here, there).map((name) => `${name} only in ${hereName}`),
    ...only(there, here).map((name) => `${name} only in ${thereName}`),
  ]
}

function wordsApart(
  here: readonly string[],
  there: readonly string[],
  redact: (text: string) => string,
): string[] {
  if (isDeepStrictEqual(here, there)) return []
  const beyond = (some: readonly string[], other: readonly string[]) =>
    some.filter((word) => !other.includes(word)).map(redact)
  const [added, removed] = [beyond(here, there), beyond(there, here)]
  if (added.length === 0 && removed.length === 0) return ['arguments in another order']
  const counted = (words: readonly string[]) => (words.length === 0 ? 'none' : words.join(' '))
  return [`arguments ${counted(added)} instead of ${counted(removed)}`]
}

/** Compares the settings that decide what a client can do with the server; other keys only by their names. */
function settingsApart(here: ServerConfig, there: ServerConfig): string[] {
  const apart = (key: string, one: string, other: string) =>
    one === other ? [] : [`${key} ${one} instead of ${other}`]
  return [
    ...apart('type', typeOf(here), typeOf(there)),
    ...(here.disabled === there.disabled ? [] : [here.disabled ? 'disabled' : 'not disabled']),
    ...apart('allowed tools', here.allow.join(', ') || 'all', there.allow.join(', ') || 'all'),
    ...apart('denied tools', here.deny.join(', ') || 'none', there.deny.join(', ') || 'none'),
    ...apart('connectTimeout', seconds(here.connectTimeoutMs), seconds(there.connectTimeoutMs)),
    ...apart('callTimeout', seconds(here.callTimeoutMs), seconds(there.callTimeoutMs)),
    ...ownKeys
      .filter((key) => !isDeepStrictEqual(here[key], there[key]))
      .map((key) => `another value of ${key}`),
  ]
}

/** Beside an address, a program shows in what it runs. */
const typeOf = ({ transport: { kind } }: ServerConfig) => (kind === 'sse' ? 'sse' : 'auto')

const ownKeys = [
  'lazy',
  'alwaysLoad',
  'description',
  'tools',
  'elicitation',
  'sampling',
  'maxTools',
  'resultBudget',
] as const

const seconds = (milliseconds: number) => `${milliseconds / 1000} s`
