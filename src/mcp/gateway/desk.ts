// One client's desk: which tools lie on it, and what becomes of its calls.
import { cut } from '../../core/errors.ts'
import { mcpName, type PoolTool, type Shelf, type UnsearchedServer } from '../../core/index.ts'
import type { ShelvedTool } from '../host/shelved-tool.ts'
import type { CallOptions, CallOutput, McpHost } from '../types.ts'
import { type Addresses, addressBlocks } from './addresses.ts'
import { listableTool } from './listable.ts'
import { CALL, callTool, type Mode, SEARCH, searchTool } from './own-tools.ts'
import { sendable } from './sendable.ts'

type Fields = { readonly [name: string]: unknown }

export type Desk = {
  readonly mode: () => Mode
  /** What a client lists: our own tools, those always loaded, and what its searches found. */
  tools(): Fields[]
  /** Whatever goes wrong is an answer that the model can act on. */
  call(name: string, input: unknown, options: CallOptions): Promise<CallOutput>
}

export type DeskOptions = {
  readonly shelf: Shelf
  readonly host: McpHost
  readonly addresses: Addresses
  readonly mode: () => Mode
  readonly servers: readonly string[]
  /** Until the servers of a first start had their chance. */
  readonly patience: () => Promise<void>
  /** The list has grown by what a search found; resolves when the client knows. */
  readonly onLoad: () => Promise<void>
}

export function createDesk({ shelf, host, addresses, mode, servers, patience, onLoad }: DeskOptions): Desk {
  const loaded = new Set<string>()
  const seen = new Set<string>()
  /** Why servers could not be searched, as the last search said it. */
  const told = new Map<string, string>()

  async function search(input: unknown): Promise<CallOutput> {
    await patience()
    const isTold = (server: UnsearchedServer) =>
      server.state !== 'pending' && told.get(server.name) === stateOf(server)
    const { tools, remark: said, unsearched, isRefused } = await shelf.search(input, { isTold })
    if (isRefused) return failure(said)
    told.clear()
    for (const server of unsearched) told.set(server.name, stateOf(server))
    const remark = [said, aboutHeld(heldTools(host))].filter(Boolean).join(' ')
    if (tools.length === 0) return say(remark)
    const isNew = tools.some(({ name }) => !loaded.has(name))
    for (const { name } of tools) seen.add(name)
    if (mode() === 'bridge') return say(described(tools, remark))
    for (const { name } of tools) loaded.add(name)
    if (isNew) await onLoad()
    return say(listed(tools, remark))
  }

  async function callByName(name: string, input: Fields, options: CallOptions): Promise<CallOutput> {
    // Its server may still be connecting: a search waits for it, as long as that is bearable.
    if (!shelf.tools().pool.byName.has(name)) await shelf.search({ query: `select:${name}` })
    const { pool, deferredNames } = shelf.tools()
    const entry = pool.byName.get(name)
    const complaint = shelf.check({ id: name, name, input })
    const held = entry ? undefined : heldTools(host).find((one) => one.name === name)
    // The host refuses it, with the reason.
    if (held) return host.call(held.server, held.tool, input, options)
    if (!entry?.server) return failure(`${textOf(complaint)} Search for it with ${SEARCH}.`)
    const isUnseen = deferredNames.has(name) && !seen.has(name)
    seen.add(name)
    if (complaint && isUnseen) {
      const remedy = 'You had not seen its definition. Here it is; call it again with arguments that fit.'
      return failure(`${textOf(complaint)}\n${remedy}\n${entry.json}`)
    }
    const output = sendable(await host.call(entry.server, entry.original, input, options))
    return addressBlocks(output, entry.server, addresses)
  }

  return {
    mode,
    tools() {
      const { immediate, pool } = shelf.tools()
      const found = [...loaded].flatMap((name) => pool.byName.get(name) ?? [])
      const own =
        mode() === 'bridge' ? [searchTool('bridge', servers), callTool] : [searchTool('list', servers)]
      const listed = new Set([...immediate, ...found])
      return [...own, ...[...listed].map(asListed)]
    },
    async call(name, input, options) {
      try {
        if (name === SEARCH) return await search(input)
        if (name !== CALL) return await callByName(name, (input ?? {}) as Fields, options)
        const wrapped = readWrapped(input)
        if (!wrapped) return failure(`${CALL} takes {"name": "<full name of the tool>", "arguments": {…}}.`)
        if (wrapped.name === SEARCH) return await search(wrapped.input)
        return await callByName(wrapped.name, wrapped.input, options)
      } catch (error) {
        options.signal?.throwIfAborted()
        const { cause } = error as { cause?: { code?: unknown } }
        if (cause?.code === MISSING_CAPABILITY) throw cause
        return failure((error as Error).message)
      }
    },
  }
}

/** It is the client's to know, not the model's, that it must declare what it can do. */
const MISSING_CAPABILITY = -32021

function stateOf({ state, error = '' }: UnsearchedServer): string {
  return `${state} ${error}`
}

type Held = { readonly name: string; readonly server: string; readonly tool: string }

/** Tools that nobody may use because their definition has changed. */
function heldTools(host: McpHost): Held[] {
  return host
    .status()
    .flatMap(({ name: server, held }) =>
      held.map((tool) => ({ name: mcpName(server, tool, ''), server, tool })),
    )
}

const MOST_HELD = 5

function aboutHeld(held: readonly Held[]): string {
  if (held.length === 0) return ''
  const names = held.slice(0, MOST_HELD).map(({ name }) => name)
  const rest = held.length - names.length
  return `Held back, because their definitions changed: ${names.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}; the user can look at them with "toolshelf pins".`
}

/** The server's own definition under the gateway's name; tasks are a matter between a client and one server. */
function asListed({ name, tool, definition }: PoolTool): Fields {
  const { execution: _, ...own } = listableTool((tool as ShelvedTool).listed)
  return { ...own, name, ...(definition.description ? { description: definition.description } : {}) }
}

/** Models write the arguments as a string at times. */
function readWrapped(input: unknown): { name: string; input: Fields } | undefined {
  const { name, arguments: given = {} } = (input ?? {}) as Fields
  if (typeof name !== 'string') return undefined
  const parsed = typeof given === 'string' ? parse(given) : given
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return undefined
  return { name, input: parsed as Fields }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function described(tools: readonly PoolTool[], remark: string): string {
  const head = `Call these with ${CALL}, by their full name. Their definitions:`
  return [head, ...tools.map(({ json }) => json), ...(remark ? [remark] : [])].join('\n')
}

function listed(tools: readonly PoolTool[], remark: string): string {
  const lines = tools.map(({ name, definition }) => `- ${name}: ${firstLine(definition.description)}`)
  return ['In your tool list now; call them by name:', ...lines, ...(remark ? [remark] : [])].join('\n')
}

function firstLine(description: unknown): string {
  const line =
    String(description ?? '')
      .trim()
      .split('\n')[0] ?? ''
  return cut(line, 120)
}

function textOf(result: { readonly content: readonly unknown[] } | undefined): string {
  return (result?.content ?? []).map((block) => String((block as Fields).text ?? '')).join('\n')
}

function say(text: string): CallOutput {
  return { content: [{ type: 'text', text }] }
}

function failure(text: string): CallOutput {
  return { content: [{ type: 'text', text }], isError: true }
}
