// What only the holder of the printed key may do: start and stop servers, accept changed definitions, save hints.
import { readFile, realpath, stat } from 'node:fs/promises'
import type { Fields } from '@toolshelf/core/internal'
import { cut, errorMessage } from '@toolshelf/core/internal'
import { JsonFile } from '@toolshelf/core/internal/node'
import type { ServerConfig } from '@toolshelf/mcp'
import { createTextRedactor, readEntries, setJsonValue, thisMachine } from '@toolshelf/mcp/internal'
import type { HintView, PinChange, ServerAction, ServerView } from '../api.ts'
import {
  type InspectedServers,
  InspectorFailure,
  MAX_NAME_LENGTH,
  type ManagedServers,
  readNames,
  readText,
} from './types.ts'
import { actionsOf, serverView, shownName, statusOf } from './views.ts'

/** Runs an action and returns the server after it. */
export async function runAction(servers: ManagedServers, input: Fields): Promise<ServerView> {
  const name = readText(input.server, 'server', MAX_NAME_LENGTH)
  const status = statusOf(servers, name)
  const possible = actionsOf(status, servers.manage.login !== undefined)
  const action = possible.find((one) => one === input.action)
  if (!action)
    throw new InspectorFailure(
      400,
      `"action" is not possible while the server is ${status.state}; possible: ${possible.join(', ') || 'none'}`,
    )
  try {
    await actions[action](servers, name)
  } catch (error) {
    throw new InspectorFailure(502, errorMessage(error).slice(0, 2000))
  }
  return serverView(servers, name)
}

const actions: {
  readonly [action in ServerAction]: (servers: ManagedServers, name: string) => Promise<unknown>
} = {
  start: ({ host }, name) => host.connect(name),
  stop: ({ host }, name) => host.disconnect(name),
  refresh: ({ host }, name) => host.refresh(name),
  async reconnect({ host }, name) {
    await host.disconnect(name)
    await host.connect(name)
  },
  async login({ host, manage: { login, configs } }, name) {
    const config = configs().find((one) => one.name === name)
    if (!config || !login) throw new Error(`run "toolshelf login ${name}" in a terminal`)
    await login(config)
    await host.disconnect(name)
    await host.connect(name)
  },
}

/** Accepts the present definitions. */
export async function acceptChanges(servers: InspectedServers, input: Fields): Promise<ServerView> {
  const { pins, host } = servers
  if (!pins) throw new InspectorFailure(400, 'there is no folder for pins')
  const server = readText(input.server, 'server', MAX_NAME_LENGTH)
  const status = statusOf(servers, server)
  const names = readNames(input.names, 'names')
  const kind = kindIn(input.kind)
  const known = await originalNames(servers, server, names)
  await refuseUnseen(servers, server, kind, names, input.versions)
  await pins.accept(server, known, kind)
  // Listing the tools again makes the decision effective at once.
  if (status.state === 'connected') await host.refresh(server).catch(() => {})
  return serverView(servers, server)
}

/** Throws if a definition has changed since the page showed it. */
async function refuseUnseen(
  servers: InspectedServers,
  server: string,
  kind: PinChange['kind'],
  names: readonly string[],
  given: unknown,
): Promise<void> {
  const versions = readNames(given, 'versions')
  const { changes } = await serverView(servers, server)
  for (const [index, name] of names.entries()) {
    const change = changes.find((one) => one.kind === kind && one.name === name)
    // What another page has just accepted is as it was shown.
    if (change === undefined || change.version === versions[index]) continue
    throw new InspectorFailure(
      409,
      `"${cut(name, 100)}" has changed again since this page showed it; read it as it is now, then accept it`,
    )
  }
}

function kindIn(kind: unknown): PinChange['kind'] {
  if (kind === 'tool' || kind === 'prompt' || kind === 'instructions') return kind
  throw new InspectorFailure(400, '"kind" must be "tool", "prompt" or "instructions"')
}

/** The page knows names in the form in which they are shown. */
async function originalNames(
  { pins }: InspectedServers,
  server: string,
  shown: readonly string[],
): Promise<readonly string[]> {
  const pinned = (await pins?.list())?.find((one) => one.server === server)
  const all = [...(pinned?.tools ?? []), ...(pinned?.prompts ?? []), 'instructions']
  const wanted = new Set(shown)
  return all.filter((name) => wanted.has(shownName(name)))
}

const MAX_HINT_LENGTH = 500

/** Returns the change that a hint would make, or makes it if it is confirmed. */
export async function saveHint(servers: ManagedServers, input: Fields): Promise<HintView> {
  const { shelf, manage } = servers
  const { configs, editable = [] } = manage
  const name = readText(input.tool, 'tool', MAX_NAME_LENGTH)
  const hint = readText(input.hint, 'hint', MAX_HINT_LENGTH)
  if (/\p{Cc}/u.test(hint)) throw new InspectorFailure(400, 'a hint is one line of plain text')
  const entry = shelf.partition().pool.byName.get(name)
  const config = configs().find((one) => one.name === entry?.server)
  if (!entry || !config) throw new InspectorFailure(404, `there is no tool "${cut(name, 100)}"`)
  const { source } = config
  if (!editable.includes(source))
    throw new InspectorFailure(
      400,
      `${source} is not your own configuration; copy the server to it with "toolshelf connect"`,
    )
  try {
    const target = await realpath(source)
    const edit = (text: string) => withHint(text, config, entry.original, hint)
    const before = await readFile(target, 'utf8')
    const after = await edit(before)
    const redact = createTextRedactor(configs())
    const diff = redact(unifiedDiff(source, before, after))
    if (input.isConfirmed !== true) return { file: source, diff, isWritten: false }
    await write(target, edit)
    return { file: source, diff, isWritten: true }
  } catch (error) {
    if (error instanceof InspectorFailure) throw error
    throw new InspectorFailure(400, `${source} cannot be changed: ${cut(errorMessage(error), 500)}`)
  }
}

async function withHint(text: string, config: ServerConfig, tool: string, hint: string): Promise<string> {
  const { source } = config
  const name = config.original ?? config.name
  if (source.endsWith('.toml')) throw new Error('hints are saved in JSON files only')
  const machine = thisMachine()
  const placeIn = async (content: string) => {
    const { entries } = await readEntries({ file: source, text: content }, machine)
    return entries.find((entry) => entry.name === name)
  }
  const place = await placeIn(text)
  if (!place) throw new Error(`it has no server "${name}" any more`)
  const changed = setJsonValue(text, [...place.path, 'tools', tool, 'hint'], hint)
  const tools = (await placeIn(changed))?.fields.tools as Fields | undefined
  if ((tools?.[tool] as Fields | undefined)?.hint !== hint) throw new Error('the hint could not be placed')
  return changed
}

/** One process at a time; the text may have changed since it was shown. */
async function write(target: string, edit: (text: string) => Promise<string>): Promise<void> {
  const file = new JsonFile(target)
  await file.alone(async () => {
    const { mode, uid, gid } = await stat(target)
    await file.write(await edit(await readFile(target, 'utf8')), { mode: mode & 0o7777, uid, gid })
  })
}

const CONTEXT = 3

/** Returns the diff; empty if the texts are the same. */
function unifiedDiff(name: string, before: string, after: string): string {
  if (before === after) return ''
  const [old, young] = [linesOf(before), linesOf(after)]
  const shortest = Math.min(old.length, young.length)
  let start = 0
  while (start < shortest && old[start] === young[start]) start++
  let end = 0
  while (end < shortest - start && old.at(-1 - end) === young.at(-1 - end)) end++
  const from = Math.max(0, start - CONTEXT)
  const shared = Math.min(CONTEXT, end)
  const hunk = [
    ...old.slice(from, start).map((line) => ` ${line}`),
    ...old.slice(start, old.length - end).map((line) => `-${line}`),
    ...young.slice(start, young.length - end).map((line) => `+${line}`),
    ...old.slice(old.length - end, old.length - end + shared).map((line) => ` ${line}`),
  ]
  const sizeOf = (lines: readonly string[]) => lines.length - end + shared - from
  const place = `@@ -${from + 1},${sizeOf(old)} +${from + 1},${sizeOf(young)} @@`
  return `${[`--- ${name}`, `+++ ${name}`, place, ...hunk].join('\n')}\n`
}

function linesOf(text: string): string[] {
  const lines = text.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  return lines
}
