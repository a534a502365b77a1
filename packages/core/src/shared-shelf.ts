// Keeps what a shelf and its forks share: the tools, the servers, the settings, and which back-ends refused tool search.
// Implements D1, D2, G3, G6.

import { attempt, silencePromise, swallowErrors } from './attempt.ts'
import { mergeCapabilities } from './capabilities.ts'
import { dropOldest } from './lib/objects.ts'
import { badOption, type Pause, type Settings, type Timer } from './options.ts'
import { oddMark } from './policy.ts'
import { buildPool, checkTool, type PoolOptions, readAhead, serverOf } from './pool.ts'
import type { Host } from './state.ts'
import type { Pool, ServerDetails, Tool } from './types.ts'
import { PLACEHOLDER } from './wires.ts'

/** What a shelf and its forks share. */
export type SharedShelf = {
  readonly host: Host
  add(tools: readonly Tool[]): void
  remove(names: string | readonly string[] | { readonly server: string }): void
  /** Replaces all tools of a server. */
  replace(server: string, tools: readonly Tool[]): void
  /** Processes a tool in advance of `replace`. */
  readAhead(tool: Tool): void
  setServer(name: string, details: Partial<ServerDetails>): void
  /** Reloads the table; returns false and keeps the last good one if it cannot be loaded or is invalid (G3). */
  refreshCapabilities(load: () => unknown): Promise<boolean>
  /** Remembers that a back-end refused references; returns true if it had not before. */
  reject(key: string): boolean
  /** Resolves at the next change of tools or servers. */
  changed(): Promise<void>
}

/** Creates what a shelf and its forks share. */
export function createSharedShelf(unguarded: Settings, initial: readonly Tool[]): SharedShelf {
  const settings = withoutFaults(unguarded)
  const servers = new Map<string, ServerDetails>()
  const slugs = new Map<string, string>()
  const rejected = new Set<string>()
  let waiting: (() => void)[] = []
  let host: Host = { settings, pool: poolOf([], settings, slugs), servers, rejected, counts: new Map() }
  let tools: readonly Tool[] = []

  const change = () => {
    const woken = waiting
    waiting = []
    for (const wake of woken) wake()
  }
  const setTools = (next: readonly Tool[]) => {
    host = { ...host, pool: poolOf(next, host.settings, slugs) }
    tools = next
    change()
  }

  const shared: SharedShelf = {
    get host() {
      return host
    },
    add(added) {
      added.forEach(checkTool)
      const replacements = new Map(added.map((tool) => [ownKey(tool), tool]))
      const known = new Set(tools.map(ownKey))
      const kept = tools.map((tool) => replacements.get(ownKey(tool)) ?? tool)
      setTools([...kept, ...added.filter((tool) => !known.has(ownKey(tool)))])
      for (const server of new Set(added.map(serverOf))) {
        if (server !== undefined && servers.get(server)?.state !== 'connected')
          shared.setServer(server, { state: 'connected' })
      }
    },
    remove(names) {
      const isGone = matcherFor(names, host.pool)
      setTools(tools.filter((tool) => !isGone(tool)))
      if (typeof names === 'object' && 'server' in names && servers.has(names.server)) {
        shared.setServer(names.server, { state: 'disabled' })
      }
    },
    replace(server, replacements) {
      replacements.forEach(checkTool)
      const owned = replacements.map((tool) => (tool.server === server ? tool : { ...tool, server }))
      setTools([...tools.filter((tool) => serverOf(tool) !== server), ...owned])
    },
    readAhead: (tool) => readAhead(tool, { ...poolOptions(settings), slugs }),
    setServer(name, details) {
      servers.set(name, withDetails(name, servers.get(name), details))
      change()
    },
    async refreshCapabilities(load) {
      try {
        const capabilities = mergeCapabilities(host.settings.capabilities, await load())
        host = { ...host, settings: { ...host.settings, capabilities } }
        return true
      } catch (error) {
        settings.notify(
          `the capability table was not refreshed and the last good one is used: ${String(error)}`,
        )
        return false
      }
    },
    reject: (key) => !rejected.has(key) && Boolean(rejected.add(key)),
    changed: () => new Promise((resolve) => waiting.push(resolve)),
  }
  setTools(initial)
  if (!settings.capabilities.providers.some(({ provider }) => provider === settings.provider)) {
    const known = settings.capabilities.providers.map(({ provider }) => provider).join(', ')
    settings.notify(
      `provider "${settings.provider}" is not in the capability table (${known}), so all tools are loaded.`,
    )
  }
  return shared
}

function poolOf(tools: readonly Tool[], settings: Settings, slugs: Map<string, string>): Pool {
  for (const tool of tools) {
    checkTool(tool)
    const warning = oddMark(tool)
    if (warning) settings.notify(warning)
  }
  return buildPool(tools, { ...poolOptions(settings), slugs })
}

function poolOptions(settings: Settings): PoolOptions {
  return {
    descriptionLimit: settings.descriptionLimit,
    definitionLimit: settings.definitionLimit,
    reserved: [settings.searchTool, settings.callTool, PLACEHOLDER],
    warn: settings.notify,
    namePrefix: settings.namePrefix,
    exactNames: settings.exactNames,
  }
}

const states = ['pending', 'connected', 'failed', 'disabled']

/** Adds details to the known ones of a server; keeps its state unless they have one. */
function withDetails(
  name: string,
  known: ServerDetails | undefined,
  details: Partial<ServerDetails>,
): ServerDetails {
  const isObject = typeof details === 'object' && details !== null
  if (!isObject || !(details.state === undefined || states.includes(details.state)))
    throw badOption(`servers.${name}`, details, `an object with a state of ${states.join(', ')}`)
  return { ...known, ...details, state: details.state ?? known?.state ?? 'connected' }
}

function ownKey(tool: Tool): string {
  return JSON.stringify([serverOf(tool) ?? null, tool.name])
}

/** Returns whether a tool has one of these names, or belongs to this server. */
function matcherFor(
  names: string | readonly string[] | { readonly server: string },
  pool: Pool,
): (tool: Tool) => boolean {
  if (typeof names === 'object' && 'server' in names) return (tool) => serverOf(tool) === names.server
  const gone = new Set([names].flat().map((name) => pool.byName.get(name as string)?.tool))
  return (tool) => gone.has(tool)
}

/** Messages remembered as sent; a server that causes ever new ones must not fill the memory. */
const MAX_MESSAGES = 1000

/** Sends each message to the operator once, and to the trace as a warning. Guards against listeners that throw (G4). */
function withoutFaults(settings: Settings): Settings {
  const reported = new Set<string>()
  const remember = (message: string) => {
    reported.add(message)
    dropOldest(reported, MAX_MESSAGES)
  }
  const trace = settings.trace && swallowErrors(settings.trace)
  const notify = (message: string) => {
    if (reported.has(message)) return
    remember(message)
    trace?.({ type: 'warning', message })
    attempt(() => settings.notify(message))
  }
  return {
    ...settings,
    trace,
    notify,
    timer: settings.timer && safeTimer(settings.timer, notify),
    pause: safePause(settings.pause),
    isHidden: settings.isHidden && requireSynchronous(settings.isHidden, notify),
  }
}

/** Wraps `isHidden` to warn if it is asynchronous, which hides every tool, because a promise is truthy. */
function requireSynchronous(isHidden: (tool: Tool) => boolean, notify: (message: string) => void) {
  return (tool: Tool): boolean => {
    const answer: unknown = isHidden(tool)
    if (silencePromise(answer))
      notify('option "isHidden" returned a promise, so the tool is hidden; return true or false.')
    return Boolean(answer)
  }
}

/** Lets other work run; if that fails, goes on. */
function safePause(pause: Pause): Pause {
  return () => {
    try {
      return pause()?.catch(() => {})
    } catch {
      return undefined
    }
  }
}

/** Starts a timer; one that cannot be started expires at once, so that nothing waits for it. */
function safeTimer(start: (milliseconds: number) => Timer, notify: (message: string) => void) {
  const fail = (error: unknown) =>
    notify(`the timer failed, so searches do not wait for servers: ${String(error)}`)
  return (milliseconds: number): Timer => {
    try {
      const timer = start(milliseconds)
      return {
        over: Promise.resolve(timer.over).then(() => {}, fail),
        cancel: () => attempt(() => timer.cancel()),
      }
    } catch (error) {
      fail(error)
      return { over: Promise.resolve(), cancel: () => {} }
    }
  }
}
