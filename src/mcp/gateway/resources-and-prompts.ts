// Merges the resources, resource templates and prompts of all servers into lists with unique names and URIs.
import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError } from '@modelcontextprotocol/server'
import { type Fields, oneLine } from '../../lib/index.ts'
import type { ListKind } from '../cache/index.ts'
import type { CallOptions, McpHost, ServerStatus } from '../types.ts'
import { type Addresses, addressBlock, nameAll } from './addresses.ts'
import { listablePrompt, listableResource, listableTemplate } from './listable.ts'
import { ownerAmong, type PossibleOwner } from './resource-owner.ts'
import { sendable } from './sendable.ts'

type Entry = { readonly server: string; readonly own: string; readonly entry: Fields }
type SizedEntry = { readonly entry: Fields; readonly bytes: number }
type Kind = {
  readonly list: ListKind
  readonly listable: (entry: unknown) => Fields[]
}

/** The contents that were read, and the server they came from. */
export type ReadResource = {
  readonly server: string
  /** A page of an MCP App. */
  readonly isPage: boolean
  readonly result: Fields
}

export type ResourcesAndPrompts = {
  resources(): Promise<Fields[]>
  templates(): Promise<Fields[]>
  prompts(): Promise<Fields[]>
  readResource(uri: string, options: CallOptions): Promise<ReadResource>
  /** Returns the server and its own URI, for subscriptions and completions. */
  ownerOf(uri: string): Promise<{ readonly server: string; readonly uri: string }>
  getPrompt(params: Fields, options: CallOptions): Promise<Fields>
  complete(params: Fields, options: CallOptions): Promise<Fields>
}

const PROMPTS: Kind = { list: 'prompts', listable: listablePrompt }
const RESOURCES: Kind = { list: 'resources', listable: listableResource }
const TEMPLATES: Kind = { list: 'resourceTemplates', listable: listableTemplate }

const PAGE_TIMEOUT = 5000
/**
 * Bytes per server. The lists of all servers form one message, and some clients disconnect at a message of more than 10
 * MB.
 */
const MOST_OF_ONE = 2_000_000
const MOST_OF_ALL = 8_000_000
/** Characters of a name or a URI that an error message repeats. */
const LONGEST_SHOWN = 500
/** Spellings of a URI that an error message shows. */
const MOST_FORMS = 5
/**
 * Milliseconds to wait at the very first start, when nothing is known about any server: many clients request these
 * lists only once.
 */
const FIRST_WAIT = 3000
/** Milliseconds for the connected servers if another server used up all the time. */
const SHORTEST_WAIT = 200

export function createResourcesAndPrompts(host: McpHost, addresses: Addresses): ResourcesAndPrompts {
  const known = new WeakMap<readonly unknown[], SizedEntry[]>()
  let firstWait: Promise<void> | undefined
  host.watchLists()

  /** Cached by identity: the same lists are sent again and again. */
  function sized(listed: readonly unknown[], { listable }: Kind): SizedEntry[] {
    let entries = known.get(listed)
    if (!entries) {
      entries = listed
        .flatMap(listable)
        .map((entry) => ({ entry, bytes: Buffer.byteLength(JSON.stringify(entry)) }))
      known.set(listed, entries)
    }
    return entries
  }

  /** Entries of one kind from every server, as far as known. */
  async function collect(kind: Kind): Promise<Entry[]> {
    firstWait ??= onFirstStart(host)
    await firstWait
    void host.freshen({ timeout: PAGE_TIMEOUT })
    const servers = host.status().filter(({ state }) => state !== 'disabled')
    return servers.flatMap(({ name: server, [kind.list]: listed = [] }) => {
      let size = 0
      const fitting = sized(listed, kind).filter(({ bytes }) => {
        size += bytes
        return size <= Math.min(MOST_OF_ONE, MOST_OF_ALL / servers.length)
      })
      return fitting.map(({ entry }) => ({ server, own: String(entry.name ?? ''), entry }))
    })
  }

  async function prompts(): Promise<Map<string, Entry>> {
    return nameAll(await collect(PROMPTS))
  }

  async function promptFor(name: unknown): Promise<Entry> {
    let known = await prompts()
    if (!known.has(String(name))) {
      // Its server may still be connecting.
      await untilListed(host)
      known = await prompts()
    }
    const entry = known.get(String(name))
    if (entry) return entry
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `unknown prompt "${oneLine(String(name), LONGEST_SHOWN)}"; ${known.size > 0 ? `there are ${namesOf(known)}` : 'there are none'}`,
    )
  }

  /** Returns the server that a URI names; for a URI without a server, the only one that matches. */
  async function ownerOf(uri: string): Promise<{ server: string; uri: string }> {
    const named = addresses.uriBack(uri)
    if (named) return named
    const possible = await possibleOwners()
    const server = ownerAmong(possible, uri)
    if (server !== undefined) return { server, uri }
    const shown = oneLine(uri, LONGEST_SHOWN)
    const forms = listedFirst(possible, uri)
      .slice(0, MOST_FORMS)
      .map((one) => `"${addresses.uri(one.server, shown)}"`)
    const remedy = forms.length > 0 ? `: ${forms.join(' or ')}` : '; no server has resources'
    throw new ResourceNotFoundError(
      shown,
      `cannot tell which server has "${shown}"; write it as server+uri${remedy}`,
    )
  }

  /** Every server that has resources, or may have some. */
  async function possibleOwners(): Promise<PossibleOwner[]> {
    const [resources, templates] = [await collect(RESOURCES), await collect(TEMPLATES)]
    return host.status().flatMap((status) => {
      const { name: server, state, capabilities, info } = status
      const isKnown = isAble(status, 'resources')
      const isPossible = state !== 'connected' && (info === undefined || capabilities.resources !== undefined)
      if (state === 'disabled' || !(isKnown || isPossible)) return []
      const own = (entries: readonly Entry[], key: string) =>
        entries.flatMap((one) => (one.server === server ? [String(one.entry[key])] : []))
      return [{ server, isKnown, uris: own(resources, 'uri'), templates: own(templates, 'uriTemplate') }]
    })
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
      const named = contents.map((one) =>
        isNamed && typeof one.uri === 'string' ? { ...one, uri: addresses.uri(server, one.uri) } : one,
      )
      return { server, isPage: uri.startsWith('ui://'), result: { ...result, contents: named } }
    },
    ownerOf,
    async getPrompt({ _meta, ...params }, options) {
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
    async complete({ _meta, ...params }, options) {
      const reference = (params.ref ?? {}) as Fields
      if (reference.type === 'ref/prompt') {
        const { server, own } = await promptFor(reference.name)
        const ref = { ...reference, name: own }
        return host.request(server, 'completion/complete', { ...params, ref }, options)
      }
      const { server, uri } = await ownerOf(String(reference.uri))
      return host.request(server, 'completion/complete', { ...params, ref: { ...reference, uri } }, options)
    },
  }
}

/** Waits for the servers if nothing is known about any of them. */
async function onFirstStart(host: McpHost): Promise<void> {
  await host.recall()
  if (!host.status().some(({ isRemembered }) => isRemembered)) await untilListed(host)
}

/** Resolves when each server has failed or has listed everything, or after the timeout. */
async function untilListed(host: McpHost): Promise<void> {
  const startedAt = performance.now()
  await host.settled({ timeout: FIRST_WAIT })
  await host.freshen({ timeout: Math.max(SHORTEST_WAIT, FIRST_WAIT - (performance.now() - startedAt)) })
}

function isAble({ state, capabilities }: ServerStatus, capability: string): boolean {
  return state === 'connected' && capabilities[capability] !== undefined
}

const MOST_NAMED = 20

function namesOf(prompts: ReadonlyMap<string, unknown>): string {
  const names = [...prompts.keys()].slice(0, MOST_NAMED).join(', ')
  return prompts.size > MOST_NAMED ? `${names} and ${prompts.size - MOST_NAMED} more` : names
}

function listedFirst(owners: readonly PossibleOwner[], uri: string): PossibleOwner[] {
  const isListed = ({ uris }: PossibleOwner) => Number(uris.includes(uri))
  return [...owners].sort((a, b) => isListed(b) - isListed(a))
}
