// What the user decides about definitions that differ from the accepted ones.
import type { Fields } from '../../lib/index.ts'
import type { PinChange, ServerView } from '../api.ts'
import { InspectorFailure, LONGEST_NAME, readNames, readText } from './read-input.ts'
import { shownName } from './readable-change.ts'
import { serverView, statusOf } from './server-views.ts'
import type { InspectedServers } from './types.ts'

/** Accepts the present definitions, or takes back that they were accepted. */
export async function changePins(servers: InspectedServers, input: Fields): Promise<ServerView> {
  const { pins, host } = servers
  if (!pins) throw new InspectorFailure(400, 'there is no folder for pins')
  const server = readText(input.server, 'server', LONGEST_NAME)
  const status = statusOf(servers, server)
  const names = readNames(input.names, 'names')
  const kind = kindIn(input.kind)
  if (input.action !== 'accept' && input.action !== 'hold')
    throw new InspectorFailure(400, '"action" must be "accept" or "hold"')
  const known = await originalNames(servers, server, names)
  await (input.action === 'accept' ? pins.accept(server, known, kind) : pins.hold(server, known, kind))
  // Comparing anew makes an accepted tool usable, or holds one back, at once.
  if (status.state === 'connected') await host.refresh(server).catch(() => {})
  return serverView(servers, server)
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
