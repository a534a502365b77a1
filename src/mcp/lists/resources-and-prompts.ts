// Merges the resources, resource templates and prompts of all servers into lists with unique names and URIs.
import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError } from '@modelcontextprotocol/server'
import { type Fields, oneLine } from '../../lib/index.ts'
import type { CallOptions, McpHost, ServerStatus } from '../types.ts'
import { type Addresses, addressBlock, nameAll } from './addresses.ts'
import { assertSendable } from './assert-sendable.ts'
import {
  createMergedLists,
  type MergedEntry,
  type MergedLists,
  PROMPTS_LIST,
  RESOURCES_LIST,
  TEMPLATES_LIST,
} from './merged-lists.ts'
import { ownerAmong, type PossibleOwner } from './resource-owner.ts'

/** The contents of a resource, and the server they came from. */
export type ReadResource = {
  readonly server: string
  /** Whether it is a page of an MCP App. */
  readonly isPage: boolean
  readonly result: Fields
}

/** The resources and prompts of all servers. */
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

/** Longest name or URI in an error message, in characters. */
const MAX_SHOWN_LENGTH = 500
/** Most spellings of a URI in an error message. */
const MAX_FORMS = 5

/** Creates the lists of a gateway. */
export function createResourcesAndPrompts(host: McpHost, addresses: Addresses): ResourcesAndPrompts {
  const lists = createMergedLists(host)

  async function prompts(): Promise<Map<string, MergedEntry>> {
    return nameAll(await lists.collect(PROMPTS_LIST))
  }

  async function promptFor(name: unknown): Promise<MergedEntry> {
    let known = await prompts()
    if (!known.has(String(name))) {
      // Its server may still be connecting.
      await lists.untilListed()
      known = await prompts()
    }
    const entry = known.get(String(name))
    if (entry) return entry
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `unknown prompt "${oneLine(String(name), MAX_SHOWN_LENGTH)}"; ${known.size > 0 ? `there are ${namesOf(known)}` : 'there are none'}`,
    )
  }

  /** Returns the server that a URI names; for a URI without a server, the only one that matches. */
  async function ownerOf(uri: string): Promise<{ server: string; uri: string }> {
    const named = addresses.uriBack(uri)
    return named ?? { server: ownerFor(uri, await possibleOwners(host, lists), addresses), uri }
  }

  return {
    resources: async () =>
      (await lists.collect(RESOURCES_LIST)).map(({ server, entry }) => ({
        ...entry,
        uri: addresses.uri(server, String(entry.uri)),
      })),
    templates: async () =>
      (await lists.collect(TEMPLATES_LIST)).map(({ server, entry }) => ({
        ...entry,
        uriTemplate: addresses.uri(server, String(entry.uriTemplate)),
      })),
    prompts: async () => [...(await prompts())].map(([name, { entry }]) => ({ ...entry, name })),
    async readResource(given, options) {
      const { server, uri } = await ownerOf(given)
      const result = assertSendable(await host.request(server, 'resources/read', { uri }, options))
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
      const result = assertSendable(
        await host.request(server, 'prompts/get', { ...params, name: own }, options),
      )
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

/** Returns every server that has resources, or may have some. */
async function possibleOwners(host: McpHost, lists: MergedLists): Promise<PossibleOwner[]> {
  const [resources, templates] = [await lists.collect(RESOURCES_LIST), await lists.collect(TEMPLATES_LIST)]
  return host.status().flatMap((status) => {
    const { name: server, state, capabilities, info } = status
    const isKnown = isAble(status, 'resources')
    const isPossible = state !== 'connected' && (info === undefined || capabilities.resources !== undefined)
    if (state === 'disabled' || !(isKnown || isPossible)) return []
    const own = (entries: readonly MergedEntry[], key: string) =>
      entries.flatMap((one) => (one.server === server ? [String(one.entry[key])] : []))
    return [{ server, isKnown, uris: own(resources, 'uri'), templates: own(templates, 'uriTemplate') }]
  })
}

/** Returns the only server that matches a URI without a server; throws an error that shows how to name one. */
function ownerFor(uri: string, possible: readonly PossibleOwner[], addresses: Addresses): string {
  const server = ownerAmong(possible, uri)
  if (server !== undefined) return server
  const shown = oneLine(uri, MAX_SHOWN_LENGTH)
  const forms = listedFirst(possible, uri)
    .slice(0, MAX_FORMS)
    .map((one) => `"${addresses.uri(one.server, shown)}"`)
  const remedy = forms.length > 0 ? `: ${forms.join(' or ')}` : '; no server has resources'
  throw new ResourceNotFoundError(
    shown,
    `cannot tell which server has "${shown}"; write it as server+uri${remedy}`,
  )
}

function isAble({ state, capabilities }: ServerStatus, capability: string): boolean {
  return state === 'connected' && capabilities[capability] !== undefined
}

const MAX_NAMED = 20

function namesOf(prompts: ReadonlyMap<string, unknown>): string {
  const names = [...prompts.keys()].slice(0, MAX_NAMED).join(', ')
  return prompts.size > MAX_NAMED ? `${names} and ${prompts.size - MAX_NAMED} more` : names
}

function listedFirst(owners: readonly PossibleOwner[], uri: string): PossibleOwner[] {
  const isListed = ({ uris }: PossibleOwner) => Number(uris.includes(uri))
  return [...owners].sort((a, b) => isListed(b) - isListed(a))
}
