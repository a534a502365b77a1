// Answers `initialize` for the gateway before the SDK and the host are loaded, because it needs neither.
import type { Readable, Writable } from 'node:stream'
import {
  aboutChanges,
  CALL_TOOL,
  callToolInput,
  cleanText,
  type Fields,
  isFields,
  oneLine,
  SEARCH_TOOL,
  toJson,
} from '@toolshelf/core/internal'
import { isReservedKey } from '../protocol/protocol.ts'
import type { KnownServer, ServerStatus } from '../types.ts'

/** The gateway's `initialize` result. */
type Greeting = {
  readonly serverInfo: { readonly name: string; readonly title: string; readonly version: string }
  readonly capabilities: Fields
  readonly instructions: string
}

export type GreetingOptions = {
  readonly version?: string
  /** Maximum characters of instructions. */
  readonly instructions?: number
  /** What the user can do while no server is configured: sentences for the model. Default: none. */
  readonly noServersHint?: string
  /** Whether the client speaks the newer protocol, which has no sessions. */
  readonly isStateless?: boolean
}

/** Builds the greeting; `servers` are known from earlier runs: the status of a host after `readCache()`, or `readCachedServers`. */
export function greetingFor(
  servers: readonly KnownServer[],
  {
    version = '0.1.0',
    instructions: budget = 4096,
    noServersHint,
    isStateless = false,
  }: GreetingOptions = {},
): Greeting {
  const extensions = extensionsOf(servers)
  const described = servers
    .filter(({ state }) => state !== 'disabled')
    .map(({ name, config, instructions, changes }) => ({
      name,
      description: config.description,
      instructions,
      changes,
    }))
  return {
    serverInfo: { name: 'toolshelf', title: 'Toolshelf', version },
    capabilities: {
      tools: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      prompts: { listChanged: true },
      completions: {},
      ...(isStateless ? {} : { logging: {} }),
      ...(Object.keys(extensions).length > 0 ? { extensions } : {}),
    },
    instructions: joinInstructions(described, budget, noServersHint),
  }
}

export type InitializeRequest = {
  readonly jsonrpc: '2.0'
  readonly id: string | number
  readonly method: 'initialize'
  readonly params: Fields & { readonly protocolVersion: string }
}

/** Protocol versions that the SDK accepts unchanged; for any other it chooses one. */
const VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07']
const MAX_REQUEST_LENGTH = 1_000_000

/**
 * Waits for the first line of the input and answers it if it is an ordinary `initialize` request, which is returned;
 * everything else stays in the input.
 */
export function answerInitialize(
  greeting: Greeting,
  { input, output }: { input: Readable; output: Writable },
): Promise<InitializeRequest | undefined> {
  const chunks: Buffer[] = []
  let size = 0

  /** Returns the request and what came after it; without a request, the whole input. */
  function takeRequest(): { request?: InitializeRequest; rest: Buffer } {
    const all = Buffer.concat(chunks)
    const end = all.indexOf('\n')
    const request = end < 0 ? undefined : requestIn(all.toString('utf8', 0, end))
    return request ? { request, rest: all.subarray(end + 1) } : { rest: all }
  }

  return new Promise((resolve) => {
    const read = () => {
      const chunk = input.read() as Buffer | null
      if (chunk === null) return
      chunks.push(chunk)
      size += chunk.length
      if (chunk.includes('\n') || size > MAX_REQUEST_LENGTH) finish()
    }
    const finish = () => {
      input.off('readable', read)
      for (const event of OVER) input.off(event, finish)
      const { request, rest } = takeRequest()
      if (rest.length > 0 && !input.readableEnded && !input.destroyed) input.unshift(rest)
      if (request) {
        const { serverInfo, capabilities, instructions } = greeting
        const { protocolVersion } = request.params
        const result = {
          protocolVersion,
          capabilities,
          serverInfo,
          ...(instructions === '' ? {} : { instructions }),
        }
        output.write(`${toJson({ result, jsonrpc: '2.0', id: request.id })}\n`)
      }
      resolve(request)
    }
    input.on('readable', read)
    for (const event of OVER) input.once(event, finish)
  })
}

const OVER = ['end', 'close', 'error'] as const

/** Parses a request; returns undefined for one that the SDK might answer differently. */
function requestIn(line: string): InitializeRequest | undefined {
  try {
    const request = JSON.parse(line)
    const { jsonrpc, id, method, params, ...others } = request
    const { protocolVersion, capabilities, clientInfo, _meta, ...unknown } = params
    const isOrdinary =
      jsonrpc === '2.0' &&
      method === 'initialize' &&
      (typeof id === 'string' || Number.isSafeInteger(id)) &&
      VERSIONS.includes(protocolVersion) &&
      isFields(capabilities) &&
      isFields(clientInfo) &&
      typeof clientInfo.name === 'string' &&
      typeof clientInfo.version === 'string' &&
      _meta === undefined &&
      Object.keys({ ...others, ...unknown }).length === 0
    return isOrdinary ? request : undefined
  } catch {
    return undefined // Not a request: the SDK reports that.
  }
}

/** The MCP Apps extension, with which servers show pages to the user. */
export const PAGES = 'io.modelcontextprotocol/ui'

/** Merges the extensions that servers declare; if two declare the same one, the first wins. */
function extensionsOf(servers: readonly KnownServer[]): Fields {
  const declared = servers.flatMap(({ state, capabilities }) =>
    state === 'disabled' ? [] : Object.entries(passableExtensions(capabilities.extensions)),
  )
  return Object.fromEntries(declared.reverse())
}

/** Returns vendor extensions and MCP Apps. Other MCP extensions define requests of their own or concern a single connection. */
export function passableExtensions(extensions: unknown): Fields {
  if (typeof extensions !== 'object' || extensions === null || Array.isArray(extensions)) return {}
  const passable = Object.entries(extensions).filter(([name]) => name === PAGES || !isReservedKey(name))
  return Object.fromEntries(passable.slice(0, MAX_EXTENSIONS))
}

const MAX_EXTENSIONS = 50

/** What instructions say about a server. */
type ServerDescription = {
  readonly name: string
  readonly description: string | undefined
  readonly instructions: string | undefined
  /** What of it changed since the user accepted it. */
  readonly changes?: ServerStatus['changes']
}

const CUT = '… [cut]'

/** Says that there is nothing to search, and what the user can do about it. */
export function aboutNoServers(hint = ''): string {
  return `No service is configured yet, so ${SEARCH_TOOL} finds nothing. ${hint}`.trimEnd()
}

/**
 * Writes the instructions for a client's model.
 *
 * @param hint - What the user can do while there is no server.
 */
export function joinInstructions(
  servers: readonly ServerDescription[],
  budget: number,
  hint?: string,
): string {
  if (servers.length === 0) return cut(aboutNoServers(hint), budget)
  const head = `The tools of these services are behind ${SEARCH_TOOL}: ${servers.map(line).join(', ')}. Search there for what a task needs, before you say that it cannot be done.`
  const speaking = servers.filter(({ instructions }) => instructions?.trim())
  const changes = aboutChanges(servers)
  const parts = [cut(changes ? `${head} ${changes}` : head, budget)]
  let left = budget - parts[0]!.length
  speaking.forEach(({ name, instructions }, index) => {
    const share = Math.floor(left / (speaking.length - index))
    const whole = `\n\n## ${oneLine(name, 60)}\n${cleanText(instructions!).trim()}`
    const part = cut(whole, share)
    if (part !== whole && part.length < MIN_EXCERPT_LENGTH) return
    parts.push(part)
    left -= part.length
  })
  return parts.join('')
}

/** Shortest useful excerpt of a text, in characters. */
const MIN_EXCERPT_LENGTH = 80

function line({ name, description }: ServerDescription): string {
  return description ? `${oneLine(name, 60)} (${cleanText(description)})` : oneLine(name, 60)
}

/** A high surrogate at the end of a cut text. */
const HALF = /[\uD800-\uDBFF]$/

function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  if (maxLength <= CUT.length) return ''
  return text.slice(0, maxLength - CUT.length).replace(HALF, '') + CUT
}

/** How found tools reach the client: on its list, or through CallTool. */
export type ListingMode = 'list' | 'bridge'

/** A tool of the gateway itself, as clients list it. */
export type OwnTool = {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: { readonly type: 'object'; readonly [field: string]: unknown }
  readonly annotations: { readonly [hint: string]: boolean }
  readonly _meta: { readonly [key: string]: unknown }
}

/** Makes Claude Code show the tool at once; otherwise it would defer the only way to find the others. */
export const ALWAYS_LOAD = { 'anthropic/alwaysLoad': true }

const AFTERWARDS: { readonly [mode in ListingMode]: string } = {
  list: 'What is found is added to your tool list; call it by its name from then on.',
  bridge: `The answer holds the definitions of the tools it found. Call one with ${CALL_TOOL}.`,
}

/** Returns the search tool. Its text names the configured servers, so that it does not change with their state. */
export function gatewaySearchTool(mode: ListingMode, servers: readonly string[]): OwnTool {
  return {
    name: SEARCH_TOOL,
    title: 'Search tools',
    description: `Finds tools of the connected services: ${servers.map((name) => oneLine(name, 60)).join(', ') || 'none yet'}. Only a few tools are listed; all others are found here. Search before you say that something cannot be done. ${AFTERWARDS[mode]}

Query forms:
- "slack send message": keywords; name the service, the action and the object. Returns up to max_results best matches.
- "+github issue": tools that have "github", ranked by the other words.
- "select:github__create_issue,github__get_issue": exactly these tools, by name, with their whole definitions.
Fetch all the tools that a step needs in one search.`,
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'Keywords, "+required words", or "select:" with exact names.' },
        max_results: { type: 'number', description: 'How many tools at most; 5 if left out.' },
      },
      required: ['query'],
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
    _meta: ALWAYS_LOAD,
  }
}

export const gatewayCallTool: OwnTool = {
  name: CALL_TOOL,
  title: 'Call a found tool',
  description: `Calls a tool whose definition ${SEARCH_TOOL} has returned.`,
  inputSchema: callToolInput(`The full name, as ${SEARCH_TOOL} gives it.`),
  annotations: { readOnlyHint: false, openWorldHint: true },
  _meta: ALWAYS_LOAD,
}
