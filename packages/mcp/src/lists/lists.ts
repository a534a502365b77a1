// Tools, resources and prompts of many servers as one list: unique names and addresses, and only what every client can read.
import {
  isSpecType,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
} from '@modelcontextprotocol/server'
import { mcpName, type PoolTool, type Shelf } from '@toolshelf/core'
import {
  cleanText,
  cleanTexts,
  type Fields,
  isFields,
  listedNames,
  oncePer,
  oneLine,
  type Pool,
  type Rights,
} from '@toolshelf/core/internal'
import type { ListKind } from '../cache/definition-cache.ts'
import { ALWAYS_LOAD } from '../greeting/greeting.ts'
import type { ShelvedTool } from '../host/publisher.ts'
import { isForPages } from '../protocol/protocol.ts'
import type { CallOptions, CallOutput, HostEvent, ListedTool, McpHost, ServerStatus } from '../types.ts'

/** Maps URIs of servers to those that clients see, and back. */
export type Addresses = {
  /** Prefixes a URI with its server: `github+repo://x`, or `ui://github+x` for a page of an MCP App. */
  readonly uri: (server: string, uri: string) => string
  /** Returns the server and its own URI; undefined if the URI names no server. */
  readonly uriBack: (uri: string) => { readonly server: string; readonly uri: string } | undefined
}

/** Creates the addresses of the servers that there are at each time. A URI of one that is gone leads to no other one. */
export function createAddresses(servers: () => readonly string[]): Addresses {
  const owners = new Map<string, string>()
  const learn = () => {
    for (const server of servers()) owners.set(schemeOf(server), server)
  }
  learn()
  return {
    uri(server, uri) {
      const { start, rest } = split(uri)
      return `${start}${schemeOf(server)}+${rest}`
    },
    uriBack(uri) {
      learn()
      const { start, rest } = split(uri)
      const end = rest.indexOf('+')
      const server = end > 0 ? owners.get(rest.slice(0, end)) : undefined
      return server === undefined ? undefined : { server, uri: start + rest.slice(end + 1) }
    },
  }
}

/**
 * Returns a server's part of its URIs: different for different servers, as a server's name has neither `.` nor `__`. A
 * scheme is without case and `_`, and begins with a letter.
 */
function schemeOf(server: string): string {
  const plain = server.toLowerCase().replaceAll('_', '.')
  return /^[a-z]/.test(plain) ? plain : `s..${plain}`
}

/** Clients of MCP Apps recognise a page by the `ui://` at the start of its URI, so it must stay in front. */
const APP = 'ui://'

function split(uri: string): { start: string; rest: string } {
  return uri.startsWith(APP) ? { start: APP, rest: uri.slice(APP.length) } : { start: '', rest: uri }
}

/** Names entries `<server>__<prompt>`. If a server lists one twice, the first is used. */
function nameAll<Item extends { readonly server: string; readonly own: string }>(
  items: readonly Item[],
): Map<string, Item> {
  const keyed = new Map(
    items.map((item) => [JSON.stringify([item.server, item.own]), item] as const).reverse(),
  )
  const listed = [...keyed.values()].reverse()
  const names = listedNames(listed)
  return new Map(listed.map((item, index) => [names[index] ?? item.own, item]))
}

/** Rewrites the URIs in a result so that the client can read them through the gateway. */
export function addressOutput(output: CallOutput, server: string, { uri }: Addresses): CallOutput {
  return addressMeta(
    { ...output, content: output.content.map((block) => addressBlock(block, server, uri)) },
    server,
    uri,
  )
}

/** Fields of `_meta` that name the page for a tool's results. */
export const PAGE_KEYS = ['ui/resourceUri', 'openai/outputTemplate']

/** Rewrites the page URI of a tool or a result, so that it is read from its own server. */
export function addressMeta<Holder extends { readonly _meta?: unknown }>(
  holder: Holder,
  server: string,
  uri: Addresses['uri'],
): Holder {
  const meta = holder._meta as Fields | null | undefined
  if (typeof meta !== 'object' || meta === null) return holder
  const changed: { [key: string]: unknown } = {}
  for (const key of PAGE_KEYS) if (typeof meta[key] === 'string') changed[key] = uri(server, meta[key])
  const page = (meta.ui as Fields | null | undefined)?.resourceUri
  if (typeof page === 'string') changed.ui = { ...(meta.ui as Fields), resourceUri: uri(server, page) }
  return Object.keys(changed).length > 0 ? { ...holder, _meta: { ...meta, ...changed } } : holder
}

/** Rewrites the URI in a content block. */
function addressBlock<Block>(block: Block, server: string, uri: Addresses['uri']): Block {
  if (typeof block !== 'object' || block === null) return block
  const { type, uri: link, resource } = block as Fields
  if (type === 'resource_link' && typeof link === 'string') return { ...block, uri: uri(server, link) }
  const own = (resource as Fields | undefined)?.uri
  if (type === 'resource' && typeof own === 'string')
    return { ...block, resource: { ...(resource as Fields), uri: uri(server, own) } }
  return block
}

export type PageTools = ReturnType<typeof createPageTools>

const MAX_LISTED = 200
const MAX_PAGE_CHARACTERS = 500_000

export function createPageTools(host: McpHost, addresses: Addresses) {
  /** The servers whose pages each client has read. */
  const readBy = new WeakMap<object, Set<string>>()

  /** Returns tools for pages under unique names, so that no server can answer for another one. */
  const hidden = () => {
    const tools = host
      .status()
      .filter(({ state }) => state !== 'disabled')
      .flatMap(({ name: server, pageTools }) => pageTools.map((tool) => ({ server, own: tool.name, tool })))
    return [...nameAll(tools)].map(([name, { server, tool }]) => ({ name, server, tool }))
  }

  function listed(): { readonly name: string; readonly server: string; readonly tool: ListedTool }[] {
    let size = 0
    return hidden()
      .slice(0, MAX_LISTED)
      .filter(({ tool }) => {
        size += JSON.stringify(tool).length
        return size <= MAX_PAGE_CHARACTERS
      })
  }

  return {
    /** Returns the tools that only pages may call, for clients that show pages. */
    list: () =>
      listed().map(({ name, server, tool }) => {
        const { execution: _, ...own } = listableTool(tool)
        return addressMeta<Fields>({ ...own, name }, server, addresses.uri)
      }),
    /** Changes when the list changes. */
    version: () => JSON.stringify(listed()),
    /** Records that the client has read a page of this server. */
    read(client: object, server: string) {
      readBy.set(client, (readBy.get(client) ?? new Set()).add(server))
    },
    /** Finds the tool of a call: by the gateway's name for it, or by its own name if the client has read a page of its server. */
    find(name: string, client: object | undefined) {
      const ours = hidden().find((one) => one.name === name)
      if (ours) return { server: ours.server, tool: ours.tool.name }
      const servers = client ? readBy.get(client) : undefined
      if (!servers) return undefined
      const owners = host
        .status()
        .filter(
          ({ name: server, state, tools, pageTools }) =>
            servers.has(server) &&
            state !== 'disabled' &&
            [...tools, ...pageTools].some((tool) => tool.name === name && isForPages(tool)),
        )
      if (owners.length > 1)
        throw new Error(
          `several pages are open whose servers have a tool "${name}": ${owners.map((one) => one.name).join(', ')}; call it as "<server>__${name}"`,
        )
      return owners[0] && { server: owners[0].name, tool: name }
    },
  }
}

/** Longest definition in characters of JSON; a larger one is replaced by the shortened one that the model gets. */
const MAX_CHARACTERS = 120_000
const MAX_META_CHARACTERS = 10_000

/** Returns a tool as a client lists it. Removes the task fields: tasks are an agreement between a client and one server. */
export function listedTool({ name, tool, definition, names }: PoolTool): Fields {
  const whole = listableTool((tool as ShelvedTool).listed)
  const described = { name, ...(definition.description ? { description: definition.description } : {}) }
  if (lengthOf(whole) <= MAX_CHARACTERS) {
    const { execution: _, ...own } = whole
    // The API would reject every request of the client for one invalid argument name.
    return { ...own, ...described, ...(names ? { inputSchema: definition.input_schema } : {}) }
  }
  const { _meta } = whole
  const isShort = typeof _meta === 'object' && _meta !== null && lengthOf(_meta) <= MAX_META_CHARACTERS
  return { ...described, inputSchema: definition.input_schema, ...(isShort ? { _meta } : {}) }
}

/** Marks a tool so that clients that defer tools themselves show it at once. */
export function alwaysLoaded(tool: Fields): Fields {
  return { ...tool, _meta: { ...(tool._meta as Fields | undefined), ...ALWAYS_LOAD } }
}

const lengthOf = oncePer((value: object) => JSON.stringify(value).length)

let last = 0

/** Returns a number per tool object: the same number means the same definition. */
export const versionOf = oncePer((_: PoolTool) => ++last)

/** Characters; longer schemas are not worth their cost to every client. */
const MAX_SCHEMA_LENGTH = 65_536

const words = (text: string): ReadonlySet<unknown> => new Set(text.split(' '))
const TYPES = words('array boolean integer null number object string')
const SCHEMA = words('items additionalProperties not if then else contains propertyNames')
const SCHEMAS = words('items allOf anyOf oneOf prefixItems')
const NAMED = words('properties $defs definitions')
const NUMBERS = words(
  'minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems minProperties maxProperties',
)
const REMARKS = words(
  'title description default examples example $schema $comment deprecated readOnly writeOnly const',
)

/**
 * Returns whether an output schema is safe to list. It must be of type object, because older clients accept no other,
 * and have no `$id`, by which clients cache schemas across servers.
 */
function isPlainSchema(whole: unknown): boolean {
  if (!isFields(whole) || whole.type !== 'object') return false
  return JSON.stringify(whole).length <= MAX_SCHEMA_LENGTH && isPlain(whole, whole)
}

function isPlain(schema: unknown, whole: Fields): boolean {
  if (typeof schema === 'boolean') return true
  return isFields(schema) && Object.entries(schema).every(([key, value]) => fits(key, value, whole))
}

function fits(key: string, value: unknown, whole: Fields): boolean {
  const arePlain = (schemas: readonly unknown[]) => schemas.every((one) => isPlain(one, whole))
  if (Array.isArray(value) && SCHEMAS.has(key)) return value.length > 0 && arePlain(value)
  if (SCHEMA.has(key)) return isPlain(value, whole)
  if (NAMED.has(key)) return isFields(value) && arePlain(Object.values(value))
  if (NUMBERS.has(key)) return typeof value === 'number'
  if (key === 'type') return [value].flat().length > 0 && [value].flat().every((type) => TYPES.has(type))
  if (key === 'required') return Array.isArray(value) && value.every((name) => typeof name === 'string')
  if (key === 'enum') return Array.isArray(value) && value.length > 0
  if (key === 'uniqueItems') return typeof value === 'boolean'
  if (key === 'format') return typeof value === 'string'
  if (key === 'pattern') return isPattern(value)
  if (key === '$ref') return isThere(value, whole)
  return REMARKS.has(key) || key.startsWith('x-')
}

function isPattern(value: unknown): boolean {
  try {
    return typeof value === 'string' && new RegExp(value, 'u') instanceof RegExp
  } catch {
    return false
  }
}

/** Returns whether a reference is `#` or like `#/$defs/page`; others may point to something that is not a schema. */
function isThere(reference: unknown, whole: Fields): boolean {
  if (typeof reference !== 'string') return false
  if (reference === '#') return true
  const [, place = '', name = ''] = /^#\/(\$defs|definitions)\/([\w.-]+)$/.exec(reference) ?? []
  const schemas = whole[place]
  return isFields(schemas) && Object.hasOwn(schemas, name)
}

const MAX_BYTES = 10_000_000

/** Returns the result; throws if it is too large or cannot be serialised. */
export function assertSendable<Result>(result: Result): Result {
  const bytes = bytesOf(result)
  if (bytes === undefined) throw new Error('a message is nested too deeply to be passed on')
  if (bytes > MAX_BYTES)
    throw new Error(
      `a message of ${Math.round(bytes / 1_000_000)} MB is too large to be passed on; ask for less`,
    )
  return result
}

function bytesOf(result: unknown): number | undefined {
  try {
    return Buffer.byteLength(JSON.stringify(result))
  } catch {
    return undefined
  }
}

/** Parsers of some languages reject messages nested deeper than 64 levels. */
const MAX_DEPTH = 50

/** Returns a tool that every client accepts. Cached by identity, because definitions are listed again and again. */
const listableTool = oncePer((tool: Fields): Fields => {
  const { outputSchema, ...rest } = cleanTexts(tool)
  const output = withObjects(outputSchema)
  const isPlain = isShallow(output) && isPlainSchema(output)
  const whole = {
    ...rest,
    inputSchema: withObjects(rest.inputSchema),
    ...(isPlain ? { outputSchema: output } : {}),
  }
  return isShallow(whole) && isSpecType.Tool(whole) ? whole : plainTool(whole)
})

/** Replaces property schemas `true` and `false`, which older clients do not accept. */
function withObjects(schema: unknown): unknown {
  const { properties } = (schema ?? {}) as Fields
  if (!isFields(properties) || Object.values(properties).every(isFields)) return schema
  const entries = Object.entries(properties)
  const asObject = (value: unknown) => (isFields(value) ? value : value === false ? { not: {} } : {})
  return {
    ...(schema as Fields),
    properties: Object.fromEntries(entries.map(([name, value]) => [name, asObject(value)])),
  }
}

function plainTool({ name, description, inputSchema }: Fields): Fields {
  const isUsable = isShallow(inputSchema) && isSpecType.Tool({ name: 'any', inputSchema })
  return { name, ...described(description), inputSchema: isUsable ? inputSchema : { type: 'object' } }
}

/** Parses an entry identified by its `key`; returns none for an entry without it. */
function listable(isRight: (entry: unknown) => boolean, key: string): (entry: unknown) => Fields[] {
  return (entry) => {
    if (isShallow(entry) && isRight(entry)) return [cleanEntry(entry as Fields, key)]
    const { [key]: own, name, description } = cleanEntry((entry ?? {}) as Fields, key)
    if (typeof own !== 'string') return []
    return [{ name: typeof name === 'string' ? name : own, [key]: own, ...described(description) }]
  }
}

/** Cleans an entry's texts. A resource's name is only for display; prompts and their arguments are identified by name. */
function cleanEntry(entry: Fields, key: string): Fields {
  const cleaned = cleanTexts(entry)
  const { name, [key]: own } = entry
  const shown = key !== 'name' && typeof name === 'string' ? { name: cleanText(name) } : {}
  return { ...cleaned, [key]: own, ...shown }
}

function described(description: unknown): Fields {
  return typeof description === 'string' ? { description } : {}
}

function isShallow(value: unknown): boolean {
  let level = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return false
    const inner: unknown[] = []
    for (const one of level)
      if (typeof one === 'object' && one !== null) for (const item of Object.values(one)) inner.push(item)
    level = inner
  }
  return true
}

/** A server that has resources, or may have some. */
type PossibleOwner = {
  readonly server: string
  /** Whether the server is connected, so that its lists are known. */
  readonly isKnown: boolean
  readonly uris: readonly string[]
  readonly templates: readonly string[]
}

/** Returns the server, or undefined if none or more than one matches. */
function ownerAmong(servers: readonly PossibleOwner[], uri: string): string | undefined {
  const listing = servers.filter(({ uris, templates }) => uris.includes(uri) || templates.includes(uri))
  const [only, ...others] = listing.length > 0 || servers.length > 1 ? listing : servers.filter(covers(uri))
  if (!only || others.length > 0) return undefined
  const isContested = servers.some((one) => one !== only && (!one.isKnown || covers(uri)(one)))
  return isContested ? undefined : only.server
}

/** Whether the URI starts like one of a server's templates. */
function covers(uri: string): (owner: PossibleOwner) => boolean {
  return ({ templates }) =>
    templates.some((template) => {
      const start = template.split('{')[0] ?? ''
      return start !== '' && uri.startsWith(start)
    })
}

/** A kind of list, and a function that makes its entries acceptable to clients. */
type MergedKind = {
  readonly list: ListKind
  readonly listable: (entry: unknown) => Fields[]
}

/** An entry of a list, its server, and its name there. */
type MergedEntry = { readonly server: string; readonly own: string; readonly entry: Fields }

type MergedLists = ReturnType<typeof createMergedLists>

const PROMPTS_LIST: MergedKind = { list: 'prompts', listable: listable(isSpecType.Prompt, 'name') }
const RESOURCES_LIST: MergedKind = { list: 'resources', listable: listable(isSpecType.Resource, 'uri') }
const TEMPLATES_LIST: MergedKind = {
  list: 'resourceTemplates',
  listable: listable(isSpecType.ResourceTemplate, 'uriTemplate'),
}

type SizedEntry = { readonly entry: Fields; readonly bytes: number }

const PAGE_TIMEOUT_MS = 5000
/** Bytes per server. The lists of all servers form one message, and some clients disconnect at a message of more than 10 MB. */
const MAX_OF_ONE = 2_000_000
const MAX_OF_ALL = 8_000_000
/**
 * Milliseconds to wait at the very first start, when nothing is known about any server: many clients request these
 * lists only once.
 */
const FIRST_WAIT_MS = 3000
/** Milliseconds for the connected servers if another server used up all the time. */
const MIN_WAIT_MS = 200

function createMergedLists(host: McpHost) {
  const known = new WeakMap<readonly unknown[], SizedEntry[]>()
  let firstWait: Promise<void> | undefined
  host.watchLists()

  /** Cached by identity: the same lists are sent again and again. */
  function sized(listed: readonly unknown[], { listable }: MergedKind): SizedEntry[] {
    let entries = known.get(listed)
    if (!entries) {
      entries = listed
        .flatMap(listable)
        .map((entry) => ({ entry, bytes: Buffer.byteLength(JSON.stringify(entry)) }))
      known.set(listed, entries)
    }
    return entries
  }

  return {
    /** Returns the entries of one kind from every server, as far as known. */
    async collect(kind: MergedKind) {
      firstWait ??= onFirstStart(host)
      await firstWait
      void host.refreshStaleLists({ timeoutMs: PAGE_TIMEOUT_MS })
      const servers = host.status().filter(({ state }) => state !== 'disabled')
      return servers.flatMap(({ name: server, [kind.list]: listed = [] }) => {
        let size = 0
        const fitting = sized(listed, kind).filter(({ bytes }) => {
          size += bytes
          return size <= Math.min(MAX_OF_ONE, MAX_OF_ALL / servers.length)
        })
        return fitting.map(({ entry }) => ({ server, own: String(entry.name ?? ''), entry }))
      })
    },
    /** Resolves when each server has failed or has listed everything, or after a timeout. */
    untilListed: () => untilListed(host),
  }
}

/** Waits for the servers if nothing is known about any of them. */
async function onFirstStart(host: McpHost): Promise<void> {
  await host.readCache()
  if (!host.status().some(({ isRemembered }) => isRemembered)) await untilListed(host)
}

async function untilListed(host: McpHost): Promise<void> {
  const startedAt = performance.now()
  await host.settled({ timeoutMs: FIRST_WAIT_MS })
  await host.refreshStaleLists({
    timeoutMs: Math.max(MIN_WAIT_MS, FIRST_WAIT_MS - (performance.now() - startedAt)),
  })
}

export type ResourcesAndPrompts = ReturnType<typeof createResourcesAndPrompts>

/** Longest name or URI in an error message, in characters. */
const MAX_SHOWN_LENGTH = 500
/** Most spellings of a URI in an error message. */
const MAX_FORMS = 5

export function createResourcesAndPrompts(host: McpHost, addresses: Addresses) {
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
    /** Returns the contents of a resource, the server they came from, and whether it is a page of an MCP App. */
    async readResource(given: string, options: CallOptions) {
      const { server, uri } = await ownerOf(given)
      const result = assertSendable(await host.request(server, 'resources/read', { uri }, options))
      const contents = Array.isArray(result.contents) ? (result.contents as Fields[]) : []
      const isNamed = addresses.uriBack(given) !== undefined
      const named = contents.map((one) =>
        isNamed && typeof one.uri === 'string' ? { ...one, uri: addresses.uri(server, one.uri) } : one,
      )
      return { server, isPage: uri.startsWith('ui://'), result: { ...result, contents: named } }
    },
    /** Returns the server and its own URI, for subscriptions and completions. */
    ownerOf,
    async getPrompt({ _meta, ...params }: Fields, options: CallOptions) {
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
    async complete({ _meta, ...params }: Fields, options: CallOptions) {
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

/**
 * Returns the host as one user sees it.
 *
 * @param shelf - The shelf as this user sees it.
 */
export function visibleHost(host: McpHost, rights: Rights, shelf: Shelf): McpHost {
  const statusOf = createStatusView(rights)
  const status = () => host.status().flatMap((one) => (rights.seesServer(one.name) ? [statusOf(one)] : []))
  const isVisible = (name: string) => shelf.partition().pool.byName.has(name)
  const isOnShelf = (server: string, tool: string) => keysIn(shelf.partition().pool).has(`${server}/${tool}`)

  /**
   * Uses a server; rejects as the host does for one that is not configured. The host's own error would name all servers,
   * even if a visible server was only removed a moment ago.
   */
  async function using<Value>(server: string, work: () => Promise<Value>): Promise<Value> {
    const isSeen = rights.seesServer(server)
    try {
      if (isSeen) return await work()
    } catch (error) {
      if (status().some(({ name }) => name === server)) throw error
    }
    const names = status().map(({ name }) => name)
    throw new Error(`unknown server "${server}"; configured: ${names.join(', ') || 'none'}`)
  }

  return {
    ...host,
    status,
    call: (server, tool, input, options) =>
      using(server, async () => {
        const name = mcpName(server, tool, '')
        if (!isOnShelf(server, tool) && !rights.seesTool(name))
          throw new Error(`there is no tool named "${name}"`)
        return host.call(server, tool, input, options)
      }),
    request: (server, method, params, options) =>
      using(server, () => host.request(server, method, params, options)),
    async run(call, options) {
      if (isVisible(shelf.resolve(call).name)) return host.run(call, options)
      return shelf.result(call, `"${call.name}" is not a tool of an MCP server.`, { isError: true })
    },
    isReadOnly: (call) => isVisible(shelf.resolve(call).name) && host.isReadOnly(call),
    listen: (listener) =>
      host.listen((event) => {
        const visible = visibleEvent(event, rights, statusOf)
        if (visible) listener(visible)
      }),
    connect: (server) => using(server, () => host.connect(server)),
    disconnect: (server) => using(server, () => host.disconnect(server)),
    refresh: (server) => using(server, () => host.refresh(server)),
  }
}

/** Returns the addresses as one user sees them: URIs of hidden servers name no server. */
export function visibleAddresses(addresses: Addresses, rights: Rights): Addresses {
  return {
    ...addresses,
    uriBack(uri) {
      const owner = addresses.uriBack(uri)
      return owner && rights.seesServer(owner.server) ? owner : undefined
    },
  }
}

/** Returns a function that removes the hidden tools from a status. Lists without any stay the same objects. */
function createStatusView(rights: Rights): (status: ServerStatus) => ServerStatus {
  const lists = new WeakMap<readonly ListedTool[], readonly ListedTool[]>()

  function visible(server: string, tools: readonly ListedTool[]): readonly ListedTool[] {
    let shown = lists.get(tools)
    if (!shown) {
      const names = listedNames(tools.map(({ name: own }) => ({ server, own })))
      shown = tools.filter((_, index) => rights.seesTool(names[index] ?? ''))
      if (shown.length === tools.length) shown = tools
      lists.set(tools, shown)
    }
    return shown
  }

  return (status) => {
    const { name } = status
    const sees = (tool: string) => rights.seesTool(mcpName(name, tool, ''))
    return {
      ...status,
      tools: visible(name, status.tools),
      pageTools: visible(name, status.pageTools),
      hidden: status.hidden.filter(sees),
      held: status.held.filter(sees),
      problems: status.problems.filter(({ tool }) => sees(tool)),
    }
  }
}

function visibleEvent(
  event: HostEvent,
  rights: Rights,
  statusOf: (status: ServerStatus) => ServerStatus,
): HostEvent | undefined {
  if (event.type === 'servers') return event
  if (!rights.seesServer(event.server)) return undefined
  if (event.type === 'state' || event.type === 'tools') return { ...event, status: statusOf(event.status) }
  if (event.type !== 'pins' || event.kind !== 'tool') return event
  const names = event.names.filter((name) => rights.seesTool(mcpName(event.server, name, '')))
  return names.length > 0 || event.names.length === 0 ? { ...event, names } : undefined
}

/** Returns the tools by their names on their servers; computed once per pool. */
const keysIn = oncePer(
  ({ tools }: Pool): ReadonlySet<string> =>
    new Set(tools.map(({ server, original }) => `${server}/${original}`)),
)
