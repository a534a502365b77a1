// Answers `initialize` for the gateway before the SDK and the host are loaded, because it needs neither.

import type { Readable, Writable } from 'node:stream'
import { type Fields, isFields, toJson } from '../../lib/index.ts'
import type { KnownServer } from '../types.ts'
import { extensionsOf } from './extensions.ts'
import { joinInstructions } from './instructions.ts'

/** The gateway's `initialize` result. */
export type Greeting = {
  readonly serverInfo: { readonly name: string; readonly title: string; readonly version: string }
  readonly capabilities: Fields
  readonly instructions: string
}

/** Options of the gateway's greeting. */
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

/** A client's `initialize` request. */
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
