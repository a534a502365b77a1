// Says how servers differ that look the same in the table of `toolshelf import`; secrets stay hidden.
import { isDeepStrictEqual } from 'node:util'
import type { PlannedServer } from '../../import/index.ts'
import { describeTransport } from '../../mcp/config/index.ts'
import type { ServerConfig } from '../../mcp/index.ts'
import { createTextRedactor } from '../../mcp/redact/index.ts'
import { fit } from '../../terminal/index.ts'

const MAX_COLUMNS = 200

/** Returns one line for each server that runs the same as one before it. */
export function differencesOfAlike(servers: readonly PlannedServer[]): string[] {
  const firsts = new Map<string, PlannedServer>()
  return servers.flatMap((one) => {
    const runs = describeTransport(one.server.transport)
    const first = firsts.get(runs)
    if (first)
      return [fit(`${one.name} differs from ${first.name}: ${differences(one, first)}.`, MAX_COLUMNS)]
    firsts.set(runs, one)
    return []
  })
}

function differences(one: PlannedServer, first: PlannedServer): string {
  const redact = createTextRedactor([one.server, first.server])
  const [here, there] = [settingsOf(one.server), settingsOf(first.server)]
  const parts = [
    ...namesApart(here.named, there.named, one.name, first.name),
    ...wordsApart(here.words, there.words, redact),
    ...(here.place === there.place ? [] : [`${redact(here.place)} instead of ${redact(there.place)}`]),
  ]
  return parts.length > 0 ? parts.join('; ') : 'other settings of the entry'
}

type Settings = {
  /** Environment variables or headers. */
  readonly named: { readonly [name: string]: string }
  readonly words: readonly string[]
  /** The URL, or the command and its folder. */
  readonly place: string
}

function settingsOf({ transport }: ServerConfig): Settings {
  if (transport.kind !== 'stdio') return { named: transport.headers, words: [], place: transport.url }
  const { command, args, cwd, env } = transport
  return { named: env, words: args, place: cwd === undefined ? command : `${command} in ${cwd}` }
}

/** Compares values, and shows only their names. */
function namesApart(
  here: Settings['named'],
  there: Settings['named'],
  hereName: string,
  thereName: string,
): string[] {
  const only = (some: Settings['named'], other: Settings['named']) =>
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
