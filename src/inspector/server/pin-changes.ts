// Accepts or holds definitions that differ from the accepted ones, as the user decides.
import { cut, type Fields } from '../../lib/index.ts'
import type { PinChange, ServerView } from '../api.ts'
import { InspectorFailure, MAX_NAME_LENGTH, readNames, readText } from './read-input.ts'
import { shownName } from './readable-change.ts'
import { serverView, statusOf } from './server-views.ts'
import type { InspectedServers } from './types.ts'

/** Accepts the present definitions, or takes back that they were accepted. */
export async function changePins(servers: InspectedServers, input: Fields): Promise<ServerView> {
  const { pins, host } = servers
  if (!pins) throw new InspectorFailure(400, 'there is no folder for pins')
  const server = readText(input.server, 'server', MAX_NAME_LENGTH)
  const status = statusOf(servers, server)
  const names = readNames(input.names, 'names')
  const kind = kindIn(input.kind)
  if (input.action !== 'accept' && input.action !== 'hold')
    throw new InspectorFailure(400, '"action" must be "accept" or "hold"')
  const known = await originalNames(servers, server, names)
  if (input.action === 'accept') await refuseUnseen(servers, server, kind, names, input.versions)
  await (input.action === 'accept' ? pins.accept(server, known, kind) : pins.hold(server, known, kind))
  // Listing the tools again makes the decision effective at once.
  if (status.state === 'connected') await host.refresh(server).catch(() => {})
  return serverView(servers, server)
}

/** Throws if a definition has changed, or was accepted or held, since the page showed it. */
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
