// Opens a session of the agent for chat and run: the user's MCP servers, built-in tools, skills and a transcript.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Agent, AgentTool, MessagesClient } from '../../agent/index.ts'
import {
  createAgent,
  createAgentTool,
  mendTranscript,
  namedTools,
  openTranscript,
  readTranscript,
  type SavedConversation,
} from '../../agent/index.ts'
import {
  createSkills,
  parseSkillFiles,
  readSkillFiles,
  type Skills,
  userSkillFolders,
} from '../../agent/skills/index.ts'
import { createBatchTool, createBuiltInTools, createScriptTool } from '../../agent/tools/index.ts'
import type { FindRelated } from '../../core/index.ts'
import { createDiskResults, createShelf, type Shelf, type State, type TraceListener } from '../../index.ts'
import { cleanText } from '../../lib/index.ts'
import {
  type LoadedConfig,
  type LocalMachine,
  readConfig,
  thisMachine,
  userConfigFiles,
} from '../../mcp/config/index.ts'
import { createMcpHost, traceServers } from '../../mcp/host/index.ts'
import type { McpHost } from '../../mcp/index.ts'
import { visible } from '../../terminal/index.ts'
import { CommandError } from '../command.ts'
import type { AuditSettings } from '../events/index.ts'
import { openAudit } from '../events/index.ts'
import { withStoredLogins } from '../servers/index.ts'
import type { Project } from '../trust/index.ts'
import {
  annotationTrust,
  findSession,
  newSessionFile,
  resultsFolder,
  whereabouts,
} from '../user-files/index.ts'
import { version } from '../version.ts'
import type { SessionPermissions } from './session-rules.ts'

/** Options of `openAgentSession`. */
export type AgentSessionOptions = {
  /** Which command opens it. */
  readonly kind: 'chat' | 'run'
  readonly client: MessagesClient
  readonly model: string
  readonly directory: string
  /** Configuration files of MCP servers; by default those of the project and the user. */
  readonly configFiles: readonly string[] | undefined
  /** The trusted content of the folder. */
  readonly project: Project
  readonly permissions: SessionPermissions
  /** The session to resume: its file, its name or the start of it, or `last`. */
  readonly resume: string | undefined
  /** URL of a remote skill index. */
  readonly skillIndex: string | undefined
  readonly contextWindow: number | undefined
  /** Where events are written. */
  readonly audit: AuditSettings | undefined
  /** Not interactive: `configFiles` without any server are an error. */
  readonly isStrict: boolean
  readonly notify: (message: string) => void
}

/** An open session. */
export type AgentSession = {
  readonly agent: Agent
  readonly shelf: Shelf
  readonly host: McpHost
  readonly skills: Skills
  readonly permissions: SessionPermissions
  /** The transcript file. */
  readonly file: string
  /** Whether the conversation is saved: no write has failed, and the file exists. */
  readonly isKept: () => boolean
  close(): Promise<void>
}

/** Opens a new session, or resumes one. */
export async function openAgentSession(options: AgentSessionOptions): Promise<AgentSession> {
  const { client, model, directory, permissions, notify, contextWindow } = options
  const { permission } = permissions
  if (!existsSync(directory)) throw new CommandError(`the folder ${directory} does not exist.`)
  const saved = options.resume === undefined ? undefined : resume(options.resume, directory, notify)
  const machine = { ...thisMachine(), folder: resolve(directory) }
  const files = options.configFiles?.map((file) => resolve(file)) ?? [
    ...userConfigFiles(machine).filter(existsSync),
    ...options.project.configs,
  ]
  const config = await readServers(files, machine, options)
  const audit = openAudit(options.audit, { notify })
  audit?.setServers(config.servers)
  const trace = audit?.stream.open(options.kind).trace
  const shelf = openShelf({
    settings: config.settings,
    notify,
    trace,
    state: saved?.state,
    related: (query, tools) => skills.related(query, tools),
  })
  const host = createMcpHost({
    shelf,
    servers: config.servers,
    ...withStoredLogins(notify),
    trustsAnnotations: annotationTrust(permissions.rules),
    notify,
    clientInfo: { name: 'toolshelf', version: version() },
  })
  if (audit) traceServers(host, audit.stream.trace)
  const skillFiles = [...options.project.skills, ...(await readSkillFiles(userSkillFolders(), notify))]
  const skills = createSkills(parseSkillFiles(skillFiles, notify), {
    ...(options.skillIndex === undefined ? {} : { indexUrl: options.skillIndex }),
    shelf,
    notify,
    messages: saved?.messages ?? [],
  })
  const own: AgentTool[] = [
    ...createBuiltInTools({ directory }),
    ...skills.tools,
    createBatchTool(),
    createScriptTool({ shelf }),
  ]
  const shared = { client, shelf, runner: host, permission, trace, system: systemPrompt(directory) }
  const tools: AgentTool[] = [...own, createAgentTool(() => ({ ...shared, model: agent.model, tools }))]
  let isBroken = false
  const transcript = openTranscript(saved?.file ?? newSessionFile(directory), (message) => {
    isBroken = true
    notify(message)
  })
  const agent: Agent = createAgent({
    ...shared,
    model,
    tools,
    messages: saved?.messages ?? [],
    ...(contextWindow === undefined ? {} : { contextWindow }),
    onHistory: (change) => transcript.write({ ...change, state: shelf.state() }),
    enrich: async (text) => {
      const added = await skills.offer(text)
      skills.prefetch(text)
      return added
    },
    preload: (text) => namedTools(shelf, text),
  })
  host.start()
  return {
    agent,
    shelf,
    host,
    skills,
    permissions,
    file: transcript.file,
    isKept: () => !isBroken && existsSync(transcript.file),
    async close() {
      await host.close()
      await audit?.close()
    },
  }
}

async function readServers(
  files: Parameters<typeof readConfig>[0],
  machine: LocalMachine,
  { configFiles, isStrict, notify }: AgentSessionOptions,
): Promise<LoadedConfig> {
  const config = await readConfig(files, machine.environment, machine)
  for (const { file, server, message } of config.problems)
    notify(`${file}${server ? `, server "${server}"` : ''}: ${message}`)
  if (isStrict && configFiles && config.servers.length === 0 && config.problems.length > 0)
    throw new CommandError('no server can be started; fix the problems above, or leave --config out.')
  return config
}

/** The agent always uses tool search, whatever the URL; if an API rejects it, the agent falls back. */
function openShelf({
  settings: { resultBudget: budget },
  notify,
  trace,
  state,
  related,
}: {
  readonly settings: LoadedConfig['settings']
  readonly notify: (message: string) => void
  readonly trace: TraceListener | undefined
  readonly state: State | undefined
  readonly related: FindRelated
}): Shelf {
  return createShelf({
    notify,
    ...(process.env.ENABLE_TOOL_SEARCH ? {} : { toolSearch: true }),
    related,
    ...(budget > 0 ? { results: { store: createDiskResults({ folder: resultsFolder() }), budget } } : {}),
    ...(state ? { state } : {}),
    ...(trace ? { trace } : {}),
  })
}

function resume(
  requested: string,
  directory: string,
  notify: (message: string) => void,
): SavedConversation & { readonly file: string } {
  const file = findSession(requested, directory)
  const saved = readable(file, () => readTranscript(file))
  if (saved.lost > 0 && saved.messages.length === 0 && saved.state === undefined)
    throw new CommandError(`${file} is not a session. ${whereabouts(directory)}`)
  readable(file, () => mendTranscript(file))
  if (saved.lost > 0)
    notify(`${file}: ${saved.lost} unreadable ${saved.lost === 1 ? 'line was' : 'lines were'} left out`)
  return { ...saved, file }
}

function readable<Value>(file: string, read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    throw new CommandError(`cannot resume session ${file}: ${(error as Error).message}`)
  }
}

/** The folder's name is untrusted text. */
function systemPrompt(directory: string): string {
  const folder = cleanText(visible(directory).replaceAll('\n', '?'))
  return `You are an agent that works in a terminal for the person who runs it. You work in ${folder} on ${process.platform}. Do what is asked with the tools you have, look before you change anything, and say briefly what you did and found. Tools that are not in your list can be loaded with ToolSearch: search before you say that something cannot be done.`
}
