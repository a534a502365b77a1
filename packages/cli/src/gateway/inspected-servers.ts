// The inspector of a process with MCP servers: what it sees of them, and what the holder of the printed key does there besides
// starting and stopping them: log in to a server, save a hint.
import { readFile, realpath, stat } from 'node:fs/promises'
import { cut, errorMessage, type Fields, fieldsOf, fileChange } from '@toolshelf/core/internal'
import { JsonFile } from '@toolshelf/core/internal/node'
import type { EventFeed, HintView, InspectedServer, InspectedServers, ToolHint } from '@toolshelf/inspector'
import type { McpGateway, McpHost, ServerConfig, ServerStatus } from '@toolshelf/mcp'
import {
  createTextRedactor,
  describeTransport,
  type GatewaySettings,
  readEntries,
  setJsonValue,
  thisMachine,
} from '@toolshelf/mcp/internal'
import type { Audit } from '../audit.ts'
import { editableFiles } from '../servers/own-servers.ts'
import { type OpenedInspector, type OpenInspectorOptions, openGatewayInspector } from './inspector.ts'

type Parts = Pick<InspectedServers, 'shelf' | 'pins' | 'untrusted'> & {
  readonly host: Pick<McpHost, 'status' | 'connect' | 'disconnect' | 'refresh'>
  readonly onChange: GatewaySettings['onChange']
  readonly manage?: Management | undefined
}

/** What only the holder of the printed key may use. */
type Management = {
  /** The configurations in use, with their secrets, which are hidden in every difference. */
  readonly configs: () => readonly ServerConfig[]
  /** Files that hints may be saved in: the user's own configuration. */
  readonly editable?: readonly string[] | undefined
  /** Logs the user in to a remote server, in a browser of this machine. */
  readonly login?: ((config: ServerConfig) => Promise<unknown>) | undefined
}

/** What only the holder of the printed key sees, and what is the same for all. */
export type InspectedParts = Pick<Parts, 'onChange' | 'pins'> & Pick<Management, 'configs'>

export type McpInspectorOptions = Pick<OpenInspectorOptions, 'address' | 'hosts' | 'users' | 'usage'> & {
  readonly gateway: Pick<McpGateway, 'viewOf'>
  /** The files of `--config`. */
  readonly named: readonly string[] | undefined
}

/** Opens the inspector of `toolshelf mcp --http`: the events of the gateway, and its servers as the reader's clients see them. */
export function openMcpInspector(
  { onChange, pins, configs }: InspectedParts,
  audit: Audit & { readonly feed: EventFeed },
  { named, gateway, ...options }: McpInspectorOptions,
): OpenedInspector {
  const manage = { configs, editable: editableFiles(named, thisMachine()) }
  return openGatewayInspector({
    ...options,
    source: 'mcp',
    audit,
    trace: audit.stream.trace,
    servers(user) {
      const { host, shelf } = gateway.viewOf(user)
      return inspectedServers({ host, shelf, onChange, ...(user ? {} : { pins, manage }) })
    },
  })
}

export function inspectedServers({ host, onChange, manage, ...rest }: Parts): InspectedServers {
  return {
    ...rest,
    host: {
      status: () => host.status().map(inspectedServer),
      connect: (name) => host.connect(name),
      disconnect: (name) => host.disconnect(name),
      refresh: (name) => host.refresh(name),
    },
    isHolding: onChange === 'hold',
    manage: manage && managementOf(manage),
  }
}

function inspectedServer({ config, ...status }: ServerStatus): InspectedServer {
  const { transport, source } = config
  const hasKey =
    transport.kind === 'stdio' ||
    Object.keys(transport.headers).some((header) => header.toLowerCase() === 'authorization')
  return {
    ...status,
    source,
    transport: `${transport.kind}: ${describeTransport(transport)}`,
    takesLogin: !hasKey,
  }
}

function managementOf({ configs, editable = [], login }: Management): InspectedServers['manage'] {
  const configOf = (name: string) => configs().find((one) => one.name === name)
  return {
    canSaveHints: editable.length > 0,
    async saveHint(hint) {
      const config = configOf(hint.server)
      if (!config) return undefined
      const { source } = config
      if (!editable.includes(source))
        throw new Error(
          `${source} is not your own configuration; copy the server to it with "toolshelf connect"`,
        )
      return saveHint(hint, config, createTextRedactor(configs())).catch((error: unknown) => {
        throw new Error(`${source} cannot be changed: ${cut(errorMessage(error), 500)}`)
      })
    },
    ...(login && {
      async login(name) {
        const config = configOf(name)
        if (!config) throw new Error(`run "toolshelf login ${name}" in a terminal`)
        await login(config)
      },
    }),
  }
}

async function saveHint(
  hint: ToolHint,
  config: ServerConfig,
  redact: (text: string) => string,
): Promise<HintView> {
  const { source } = config
  const target = await realpath(source)
  const before = await readFile(target, 'utf8')
  const { lines } = fileChange(source, before, await withHint(before, config, hint))
  const diff = redact(lines.map(({ kind, text }) => MARKS[kind] + text).join('\n'))
  if (hint.isConfirmed) await write(target, (text) => withHint(text, config, hint))
  return { file: source, diff, isWritten: hint.isConfirmed }
}

const MARKS = { same: ' ', added: '+', removed: '-', gap: '@@' } as const

async function withHint(
  text: string,
  { source, name, original = name }: ServerConfig,
  { tool, hint }: ToolHint,
): Promise<string> {
  if (source.endsWith('.toml')) throw new Error('hints are saved in JSON files only')
  const machine = thisMachine()
  const placeIn = async (content: string) => {
    const { entries } = await readEntries({ file: source, text: content }, machine)
    return entries.find((entry) => entry.name === original)
  }
  const place = await placeIn(text)
  if (!place) throw new Error(`it has no server "${original}" any more`)
  const changed = setJsonValue(text, [...place.path, 'tools', tool, 'hint'], hint)
  const tools: Fields = fieldsOf((await placeIn(changed))?.fields.tools)
  if (fieldsOf(tools[tool]).hint !== hint) throw new Error('the hint could not be placed')
  return changed
}

/** One process at a time; the text may have changed since it was shown. */
async function write(target: string, edit: (text: string) => Promise<string>): Promise<void> {
  const file = new JsonFile(target)
  await file.alone(async () => {
    const { mode, uid, gid } = await stat(target)
    await file.write(await edit(await readFile(target, 'utf8')), { mode: mode & 0o7777, uid, gid })
  })
}
