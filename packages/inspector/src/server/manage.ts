// What only the holder of the printed key may do: start and stop servers, accept changed definitions, save hints.
import type { Fields } from '@toolshelf/core/internal'
import { cut, errorMessage } from '@toolshelf/core/internal'
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
  async login({ host, manage }, name) {
    await manage.login?.(name)
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
export async function saveHint({ shelf, manage }: ManagedServers, input: Fields): Promise<HintView> {
  const name = readText(input.tool, 'tool', MAX_NAME_LENGTH)
  const hint = readText(input.hint, 'hint', MAX_HINT_LENGTH)
  if (/\p{Cc}/u.test(hint)) throw new InspectorFailure(400, 'a hint is one line of plain text')
  const entry = shelf.partition().pool.byName.get(name)
  const { server = '', original = '' } = entry ?? {}
  const isConfirmed = input.isConfirmed === true
  const saved = await manage
    .saveHint({ server, tool: original, hint, isConfirmed })
    .catch((error: unknown) => {
      throw new InspectorFailure(400, errorMessage(error))
    })
  if (!saved) throw new InspectorFailure(404, `there is no tool "${cut(name, 100)}"`)
  return saved
}
