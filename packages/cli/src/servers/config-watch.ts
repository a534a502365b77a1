// Applies changed configuration files while the gateway runs.
import { unwatchFile, watchFile } from 'node:fs'
import { resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type LoadedConfig, readConfig, type ServerConfig } from '@toolshelf/mcp'
import type { ConfigProblem } from '@toolshelf/mcp/internal'

type ConfigWatchOptions = {
  readonly files: readonly string[]
  /** The configuration as read at the start. */
  readonly config: LoadedConfig
  /** Uses these servers from now on. */
  readonly configure: (servers: readonly ServerConfig[]) => Promise<void>
  /** Reports to the operator. */
  readonly notify: (message: string) => void
}

/** Milliseconds between two checks; `watch` would miss a file that an editor replaces. */
const INTERVAL_MS = 1000

/** Watches files, and reads them again on request. */
export type ConfigWatch = ReturnType<typeof watchConfig>

/** Watches the files until it is stopped. */
export function watchConfig({ files, config, configure, notify }: ConfigWatchOptions) {
  let inUse = config
  /** False after a failure to apply a configuration, which may have applied a part of it. */
  let isApplied = true
  let taking: Promise<void> = Promise.resolve()

  async function take(): Promise<void> {
    const next = await readConfig(files)
    for (const problem of next.problems) if (!isKnown(problem, inUse)) notify(describeProblem(problem))
    const unread = unreadFile(inUse, next)
    if (unread !== undefined)
      return notify(`${unread}: keeping its servers as they are until it can be read.`)
    if (!isDeepStrictEqual(next.settings, inUse.settings))
      notify('"gateway" has changed in the configuration; restart to apply it.')
    const changes = describeChanges(inUse.servers, next.servers)
    const isNeeded = changes !== '' || !isApplied
    if (isNeeded) {
      isApplied = false
      await configure(next.servers)
      isApplied = true
    }
    inUse = next
    if (changes !== '') notify(`the configuration has changed: ${changes}.`)
    else if (isNeeded) notify('the configuration is back to what it was before the failed change.')
  }

  const reload = () => {
    taking = taking.then(take).catch((error: Error) => notify(error.message))
    return taking
  }
  // A shell's <(…) can be read only once.
  const watched = files.map((file) => resolve(file)).filter((file) => !/^\/(?:dev|proc)\//.test(file))
  for (const file of watched)
    watchFile(file, { interval: INTERVAL_MS, persistent: false }, (current, previous) => {
      const isSame = (['mtimeMs', 'ino', 'size'] as const).every(
        (field) => current[field] === previous[field],
      )
      if (!isSame) void reload()
    })
  // What was written after the configuration was read, and before the watch knew the files, is no change to it.
  const first = setTimeout(() => watched.length === files.length && void reload(), INTERVAL_MS).unref()
  return {
    /** Reads the files now and applies what has changed; resolves when that is done. */
    reload,
    stop() {
      clearTimeout(first)
      for (const file of watched) unwatchFile(file)
    },
  }
}

export function describeProblem({ file, server, message }: ConfigProblem): string {
  return `${file}${server ? `, server "${server}"` : ''}: ${message}`
}

function isKnown(problem: ConfigProblem, { problems }: LoadedConfig): boolean {
  return problems.some((one) => isDeepStrictEqual(one, problem))
}

/** A file of servers in use that cannot be read now: it is being written, or contains a mistake. */
function unreadFile(inUse: LoadedConfig, next: LoadedConfig): string | undefined {
  const has = ({ servers }: LoadedConfig, file: string) => servers.some(({ source }) => source === file)
  const unread = next.problems.find(
    ({ file, server, kind }) =>
      server === undefined && kind !== 'no-servers' && has(inUse, file) && !has(next, file),
  )
  return unread?.file
}

function describeChanges(before: readonly ServerConfig[], after: readonly ServerConfig[]): string {
  const named = (servers: readonly ServerConfig[], name: string) => servers.find((one) => one.name === name)
  const names = [...new Set([...before, ...after].map(({ name }) => name))]
  const kinds = names.map((name) => {
    const [old, current] = [named(before, name), named(after, name)]
    const kind = !old ? 'added' : !current ? 'removed' : isDeepStrictEqual(old, current) ? 'same' : 'changed'
    return { name, kind }
  })
  return ['added', 'changed', 'removed']
    .map((kind) => ({ kind, changed: kinds.filter((one) => one.kind === kind).map(({ name }) => name) }))
    .flatMap(({ kind, changed }) => (changed.length > 0 ? [`${kind} ${changed.join(', ')}`] : []))
    .join('; ')
}
