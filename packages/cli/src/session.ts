// What `chat` and `run` share: a session of the agent with its servers, tools, skills and permission rules.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  type Agent,
  type AgentTool,
  createAgent,
  createAgentTool,
  createBatchTool,
  createBuiltInTools,
  createPermissions,
  createScriptTool,
  createSkills,
  type MessagesClient,
  namedTools,
  openTranscript,
  type PermissionRule,
} from '@toolshelf/agent'
import {
  mendTranscript,
  type PermissionQuestion,
  type PermissionsOptions,
  parseRule,
  parseSkillFiles,
  READ_ONLY,
  type RuleEffect,
  readSkillFiles,
  readTranscript,
  type SavedConversation,
  userSkillFolders,
} from '@toolshelf/agent/internal'
import { createShelf, type Shelf, type State, type TraceListener } from '@toolshelf/core'
import {
  cleanText,
  type FindRelated,
  MCP_PREFIX,
  matchesAny,
  matchesServer,
  matchesTool,
  splitToolName,
} from '@toolshelf/core/internal'
import { createDiskResults } from '@toolshelf/core/node'
import { createMcpHost, type LoadedConfig, type McpHost, readConfig, userConfigFiles } from '@toolshelf/mcp'
import { type LocalMachine, thisMachine, traceServers } from '@toolshelf/mcp/internal'
import { openAudit } from './audit.ts'
import { CommandError, didYouMean, type Input, type Option, UsageError } from './command.ts'
import type { AuditSettings } from './options.ts'
import { describeProblem } from './servers/config-watch.ts'
import { withStoredLogins } from './servers/start.ts'
import { visible } from './terminal/table.ts'
import type { Project } from './trust/project.ts'
import { annotationTrust, openUserRules } from './user-files/permission-file.ts'
import { findSession, newSessionFile, resultsFolder, whereabouts } from './user-files/session-files.ts'
import { version } from './version.ts'

type AgentSessionOptions = {
  /** Which command opens it. */
  readonly kind: 'chat' | 'run'
  readonly client: MessagesClient
  readonly model: string
  readonly directory: string
  /** Configuration files of MCP servers; by default those of the project and the user. */
  readonly configFiles: readonly string[] | undefined
  /** The trusted content of the folder. */
  readonly project: Project
  readonly permissions: Awaited<ReturnType<typeof openPermissions>>
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

export type AgentSession = Awaited<ReturnType<typeof openAgentSession>>

/** Opens a new session, or resumes one. */
export async function openAgentSession(options: AgentSessionOptions) {
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
    /** Whether the conversation is saved: no write has failed, and the file exists. */
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
  for (const problem of config.problems) notify(describeProblem(problem))
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

/** Options of commands with an agent. */
export const ruleOptions: { readonly [name: string]: Option } = {
  allow: {
    value: 'rule',
    isMultiple: true,
    about: 'what may run without asking: Bash(git status*), mcp__github__*; * matches anything',
  },
  deny: {
    value: 'rule',
    isMultiple: true,
    about: 'what may not run, whatever else allows it; same form as --allow',
  },
}

/** Returns the rules of `--allow` and `--deny`. */
export function rulesFromFlags(input: Input): PermissionRule[] {
  const rulesOf = (effect: RuleEffect) =>
    input.texts(effect).map((rule) => ({ effect, rule, scope: 'session' }) as const)
  const rules = [...rulesOf('allow'), ...rulesOf('deny')]
  for (const rule of rules) {
    try {
      parseRule(rule)
    } catch (error) {
      throw new UsageError(`--${rule.effect}: ${(error as Error).message}.`)
    }
  }
  return rules
}

type OpenPermissionsOptions = Pick<PermissionsOptions, 'ask' | 'refusal'> & {
  /** `folder` is the agent's working folder. */
  readonly machine: LocalMachine
  readonly project: Project
  /** The rules of `--allow` and `--deny`. */
  readonly fromFlags: readonly PermissionRule[]
}

/** Opens the permissions. Rejects if the user's own rules cannot be read, because there may be a deny rule among them. */
export async function openPermissions(options: OpenPermissionsOptions) {
  const { machine, project, fromFlags, ask, refusal } = options
  const own = openUserRules(machine)
  const kept = await own.read().catch((error: Error) => {
    throw new CommandError(error.message)
  })
  const permissions = createPermissions({
    directory: machine.folder,
    home: machine.home,
    rules: [...fromFlags, ...project.rules, ...kept],
    save: own.add,
    ...(ask ? { ask } : {}),
    ...(refusal ? { refusal } : {}),
  })
  return {
    ...permissions,
    /** Adds a rule; a rule with a scope beyond the session is stored on disk. */
    async keep(rule: PermissionRule) {
      permissions.add(rule)
      if (isStored(rule)) await own.add([rule])
    },
    /** Removes a rule, on disk too. Returns false if there is no such rule. */
    async forget(rule: PermissionRule) {
      const wasKept = isStored(rule) && (await own.remove(rule))
      return permissions.remove(rule) || wasKept
    },
  }
}

/** Whether a rule belongs to the user's own file. */
const isStored = ({ scope }: PermissionRule) => scope === 'project' || scope === 'user'

/** Returns the refusal for sessions in which nobody can be asked; reports once per tool which rule would have allowed it. */
export function refuseUnasked(notify: (message: string) => void): (question: PermissionQuestion) => string {
  const refused = new Set<string>()
  return ({ call: { name }, suggested }) => {
    const rules = suggested.length > 0 ? suggested : [name]
    const option = rules.map((rule) => `--allow ${quoted(rule)}`).join(' ')
    if (!refused.has(name)) notify(`${name} was not run, because no rule allows it: ${option}`)
    refused.add(name)
    return `${name} was not run: this session has no rule that allows it, and nobody to ask. The user has been told which rule would.`
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/**
 * Describes the rules that match no tool, one sentence each. Rules for servers that are not connected are skipped:
 * their tools are unknown.
 */
export function idlePermissionRules(
  rules: readonly PermissionRule[],
  { shelf, host }: { readonly shelf: Shelf; readonly host: McpHost },
): string[] {
  const names = shelf.tools().map(({ name }) => name)
  const servers = host.status().map(({ name, state, tools }) => ({
    name,
    isKnown: state === 'connected' || tools.length > 0,
  }))
  const isIdle = ({ tool, tools }: ReturnType<typeof parseRule>) => {
    if (names.some((name) => matchesAny([tool], name))) return false
    if (!tools) return true
    const parts = names.flatMap((name) => splitToolName(name) ?? [])
    const isExpected = servers.some(({ name, isKnown }) => !isKnown && matchesServer(tools.server, name))
    return !isExpected && !parts.some((name) => matchesTool(tools, name))
  }
  return rules.flatMap((one) => {
    const parsed = parseRule(one)
    if (parsed.rule.startsWith(READ_ONLY) || !isIdle(parsed)) return []
    const { effect, rule, tool } = parsed
    const others = tool.includes('*') ? servers.map(({ name }) => `${MCP_PREFIX}${name}__*`) : []
    return [
      `--${effect} "${rule}" matches none of the tools${didYouMean(tool, [...others, ...names]) || '.'}`,
    ]
  })
}
