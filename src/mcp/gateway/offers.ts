// What else the servers offer: resources, templates and prompts, joined under names that lead back.
import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError } from '@modelcontextprotocol/server'
import { listAll } from '../host/listing.ts'
import type { CallOptions, McpHost, ServerStatus } from '../types.ts'
import { type Addresses, addressBlock, nameAll } from './addresses.ts'
import { listablePrompt, listableResource, listableTemplate } from './listable.ts'
import { sendable } from './sendable.ts'

type Fields = { readonly [name: string]: unknown }
type Entry = { readonly server: string; readonly own: string; readonly entry: Fields }
type Kind = {
  readonly capability: string
  readonly method: string
  readonly field: string
  readonly listable: (entry: unknown) => Fields[]
}

export type Offers = {
  resources(): Promise<Fields[]>
  templates(): Promise<Fields[]>
  prompts(): Promise<Fields[]>
  readResource(uri: string, options: CallOptions): Promise<Fields>
  /** The server and its own URI, for subscriptions and completions. */
  ownerOf(uri: string): Promise<{ readonly server: string; readonly uri: string }>
  getPrompt(params: Fields, options: CallOptions): Promise<Fields>
  complete(params: Fields, signal: AbortSignal): Promise<Fields>
  close(): void
}

const PROMPTS: Kind = {
  capability: 'prompts',
  method: 'prompts/list',
  field: 'prompts',
  listable: listablePrompt,
}
const RESOURCES: Kind = {
  capability: 'resources',
  method: 'resources/list',
  field: 'resources',
  listable: listableResource,
}
const TEMPLATES: Kind = {
  capability: 'resources',
  method: 'resources/templates/list',
  field: 'resourceTemplates',
  listable: listableTemplate,
}

/** One slow server must not hold up the others' lists. */
const PAGE_TIMEOUT = 5000
const LIST_TIMEOUT = 10_000
const LONGEST_FAILURE = 30_000
/** Of one server. All servers' are one message, and some clients end the connection at one of more than 10 MB. */
const MOST_CHARACTERS = 2_000_000
/** For servers still connecting: many clients ask for these lists only once. */
const LONGEST_WAIT = 3000

export function createOffers(host: McpHost, addresses: Addresses): Offers {
  const lists = new Map<string, Promise<Fields[]>>()
  const stop = host.listen((event) => {
    if (event.type === 'state' || event.type === 'resources' || event.type === 'prompts') {
      for (const key of lists.keys()) if (key.endsWith(`\n${event.server}`)) lists.delete(key)
    }
  })

  /** Entries of one kind from every server that runs and has them. */
  async function collect(kind: Kind): Promise<Entry[]> {
    await host.settled({ timeout: LONGEST_WAIT })
    const servers = host.status().filter((status) => isAble(status, kind.capability))
    const found = await Promise.all(
      servers.map(async ({ name: server }) => {
        const key = `${kind.method}\n${server}`
        if (!lists.has(key)) remember(key, list(server, kind))
        // Some declare what they do not have; the others' lists are still good.
        const entries = await lists.get(key)!.catch(() => [])
        return entries.map((entry) => ({ server, own: String(entry.name ?? ''), entry }))
      }),
    )
    return found.flat()
  }

  /** One that failed, too, for a while: else a server that hangs would hold up whatever needs a list. */
  function remember(key: string, listing: Promise<Fields[]>): void {
    lists.set(key, listing)
    const forget = () => lists.get(key) === listing && lists.delete(key)
    listing.catch(() => setTimeout(forget, LONGEST_FAILURE).unref())
  }

  async function list(server: string, { method, field, listable }: Kind): Promise<Fields[]> {
    const ask = (params?: Fields) => host.request(server, method, params, { timeout: PAGE_TIMEOUT })
    const { entries } = await listAll(ask, field, LIST_TIMEOUT)
    let size = 0
    return entries.flatMap(listable).filter((entry) => {
      size += JSON.stringify(entry).length
      return size <= MOST_CHARACTERS
    })
  }

  async function prompts(): Promise<Map<string, Entry>> {
    return nameAll(await collect(PROMPTS))
  }

  async function promptFor(name: unknown): Promise<Entry> {
    const known = await prompts()
    const entry = known.get(String(name))
    if (entry) return entry
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `there is no prompt "${name}"; there are ${[...known.keys()].join(', ') || 'none'}`,
    )
  }

  /** A URI without a server's name, as it may stand in a text: whoever can read it is its owner. */
  async function ownerOf(uri: string): Promise<{ server: string; uri: string }> {
    const named = addresses.uriBack(uri)
    if (named) return named
    const listed = await collect(RESOURCES)
    const owner = listed.find(({ entry }) => entry.uri === uri)
    if (owner) return { server: owner.server, uri }
    for (const { name: server } of host.status().filter((status) => isAble(status, 'resources'))) {
      const isReadable = await host
        .request(server, 'resources/read', { uri }, { timeout: PAGE_TIMEOUT })
        .then(
          () => true,
          () => false,
        )
      if (isReadable) return { server, uri }
    }
    throw new ResourceNotFoundError(uri, `no server has the resource "${uri}"`)
  }

  return {
    resources: async () =>
      (await collect(RESOURCES)).map(({ server, entry }) => ({
        ...entry,
        uri: addresses.uri(server, String(entry.uri)),
      })),
    templates: async () =>
      (await collect(TEMPLATES)).map(({ server, entry }) => ({
        ...entry,
        uriTemplate: addresses.uri(server, String(entry.uriTemplate)),
      })),
    prompts: async () => [...(await prompts())].map(([name, { entry }]) => ({ ...entry, name })),
    async readResource(given, options) {
      const { server, uri } = await ownerOf(given)
      const result = sendable(await host.request(server, 'resources/read', { uri }, options))
      const contents = Array.isArray(result.contents) ? (result.contents as Fields[]) : []
      const isNamed = addresses.uriBack(given) !== undefined
      return {
        ...result,
        contents: contents.map((one) =>
          isNamed && typeof one.uri === 'string' ? { ...one, uri: addresses.uri(server, one.uri) } : one,
        ),
      }
    },
    ownerOf,
    async getPrompt(params, options) {
      const { server, own } = await promptFor(params.name)
      const result = sendable(await host.request(server, 'prompts/get', { ...params, name: own }, options))
      const messages = Array.isArray(result.messages) ? (result.messages as Fields[]) : []
      return {
        ...result,
        messages: messages.map((message) => ({
          ...message,
          content: addressBlock(message.content, server, addresses.uri),
        })),
      }
    },
    async complete(params, signal) {
      const reference = (params.ref ?? {}) as Fields
      if (reference.type === 'ref/prompt') {
        const { server, own } = await promptFor(reference.name)
        const ref = { ...reference, name: own }
        return host.request(server, 'completion/complete', { ...params, ref }, { signal })
      }
      const { server, uri } = await ownerOf(String(reference.uri))
      return host.request(
        server,
        'completion/complete',
        { ...params, ref: { ...reference, uri } },
        { signal },
      )
    },
    close: stop,
  }
}

function isAble({ state, capabilities }: ServerStatus, capability: string): boolean {
  return state === 'connected' && capabilities[capability] !== undefined
}
