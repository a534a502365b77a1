// Servers whose offers a test writes.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ServerConfig } from '../../../packages/mcp/src/types.ts'
import type { Loose } from '../../../packages/testkit/src/talk.ts'
import { temporaryFolder } from './folder.ts'
import { initialized, serveHere, serverHere, text } from './server-here.ts'
import { type Given, httpServer, local } from './servers.ts'

type Write = (tools: readonly object[], instructions?: string, more?: object) => void

export type Listed = {
  readonly config: ServerConfig
  /** Makes it ready at first, and changes its lists later. */
  readonly write: Write
}

export type ListedHere = Listed & {
  /** Makes it not ready again, for those who connect from now on. */
  hide(): void
}

/** A server in this process whose list of tools a test writes; not ready before it has. */
export function listed(name: string, tools?: readonly object[], given: Given = {}): ListedHere {
  let offers: Loose
  let tell = () => {}
  const waiting: (() => void)[] = []
  const write: Write = (now, instructions, more = {}) => {
    const isFirst = offers === undefined
    offers = { tools: now, instructions, ...more }
    for (const begin of waiting.splice(0)) begin()
    if (!isFirst) tell()
  }
  const hide = () => {
    offers = undefined
  }
  const config = serverHere(
    name,
    ({ notify }) => {
      tell = () => {
        notify('notifications/tools/list_changed')
        notify('notifications/prompts/list_changed')
      }
      return {
        async initialize(params) {
          if (!offers) await new Promise<void>((resolve) => waiting.push(resolve))
          const { instructions, resources, prompts } = offers
          const capabilities = {
            ...(resources ? { resources: {} } : {}),
            ...(prompts ? { prompts: {} } : {}),
          }
          return { ...initialized(params, capabilities), instructions }
        },
        'tools/list': () => ({ tools: offers.tools }),
        'tools/call': ({ name: called, arguments: input }) =>
          input?.result ?? text(`called ${called} with ${JSON.stringify(input)}`),
        'prompts/list': () => ({ prompts: offers.prompts }),
        'prompts/get': ({ name: prompt }) => ({
          messages: [{ role: 'user', content: { type: 'text', text: `got ${prompt}` } }],
        }),
        'resources/list': () => ({ resources: offers.resources }),
        'resources/templates/list': () => ({ resourceTemplates: offers.templates ?? [] }),
        'resources/read': ({ uri }) => ({ contents: [{ uri, text: `${name} read ${uri}` }] }),
      }
    },
    given,
  )
  if (tools) write(tools)
  return { config, write, hide }
}

/** The same as a process, for tests of its environment and of commands that read its configuration. */
export function listedProcess(name: string, tools?: readonly object[], given: Given = {}): Listed {
  const file = join(temporaryFolder(), 'tools.json')
  const write: Write = (now, instructions, more = {}) =>
    writeFileSync(file, JSON.stringify({ tools: now, ...(instructions ? { instructions } : {}), ...more }))
  if (tools) write(tools)
  const env = { ...given.env, TOOLS_FILE: file, NAME: name }
  return { config: local(name, 'gateway-listed', { ...given, env }), write }
}

export function tool(name: string, more: object = {}) {
  const inputSchema = { type: 'object', properties: {} }
  return { name, description: `The tool ${name}`, inputSchema, ...more }
}

/** A server that does everything right: what `healthy.mjs` is, in this process. It is always the same one. */
export const neighbour = (given: Given = {}) => httpServer('neighbour', neighbourUrl, given)

const neighbourUrl = serveHere(() => ({
  'tools/list': () => ({
    tools: [
      tool('echo', {
        description: 'Says again what it is told',
        inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
      }),
      tool('add', {
        description: 'Adds two numbers',
        inputSchema: {
          type: 'object',
          properties: { a: { type: 'number' }, b: { type: 'number' } },
          required: ['a', 'b'],
        },
      }),
    ],
  }),
  'tools/call': ({ name, arguments: input }) => text(name === 'add' ? input.a + input.b : input.text),
}))
