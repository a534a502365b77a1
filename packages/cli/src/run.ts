// `toolshelf run`: sends one prompt to the agent without an interactive session; for scripts and pipes.
import { type AgentEvent, createAgentMeter } from '@toolshelf/agent'
import { addUsage, type EndReason, noUsage, type TokenUsage } from '@toolshelf/agent/internal'
import { type PriceTable, SEARCH_TOOL, toJson } from '@toolshelf/core/internal'
import type { McpHost } from '@toolshelf/mcp'
import { checkPrompt, modelOptions, onInterrupt, openClient, readPrompt } from './client.ts'
import {
  type Command,
  configOption,
  directoryIn,
  type ExitCode,
  filesIn,
  type Input,
  type Option,
  type Terminal,
  UsageError,
  urlIn,
  windowIn,
} from './command.ts'
import { reportServerChanges } from './gateway/notices.ts'
import { auditIn, auditOptions } from './options.ts'
import { pricesIn, pricesOption } from './prices.ts'
import { reportWaiting, startingServers } from './servers/start.ts'
import {
  type AgentSession,
  idlePermissionRules,
  openAgentSession,
  openPermissions,
  refuseUnasked,
  ruleOptions,
  rulesFromFlags,
} from './session.ts'
import { harmless, visible } from './terminal/table.ts'
import { machineAt, projectOf, trustOption } from './trust/open.ts'
import { resumeOptions } from './user-files/session-files.ts'

/** The options of an agent session, shared with chat. */
export const sessionOptions: { readonly [name: string]: Option } = {
  ...configOption('configuration of MCP servers (default: this folder’s and yours)'),
  ...ruleOptions,
  'trust-project': trustOption,
  skills: { value: 'url', about: 'URL of an index of further skills' },
  resume: {
    value: 'session',
    values: ['last'],
    about: 'continue the last session, or one by its name or file',
  },
  directory: { value: 'folder', about: 'folder where the agent works (default: the current one)' },
  window: { value: 'tokens', about: 'context window of the model, in tokens (default: 200000)' },
  ...auditOptions,
}

export const runCommand: Command = {
  name: 'run',
  summary: 'One prompt to an agent with your MCP servers; the answer on stdout.',
  words: '"<prompt>"|- [--json|--stream-json] [--allow <rule>…] [--resume last]',
  options: {
    ...modelOptions,
    ...sessionOptions,
    ...pricesOption,
    json: { about: 'print one JSON document at the end' },
    'stream-json': { about: 'print a line of JSON per event' },
  },
  examples: [
    'toolshelf run "what changed in this repository today?"',
    'toolshelf run "file an issue about the failing test" --config .mcp.json --allow Bash --allow "mcp__github__*"',
    'git diff | toolshelf run "review this" --json',
    'toolshelf run - < prompt.md',
    'toolshelf run "hello" --script demo',
  ],
  async run(input, terminal) {
    if (input.isSet('json') && input.isSet('stream-json'))
      throw new UsageError('--json and --stream-json cannot be combined; use one of them.')
    checkPrompt(input, terminal)
    const notify = (message: string) => terminal.report(harmless(`toolshelf run: ${message}`))
    const fromFlags = rulesFromFlags(input)
    const contextWindow = windowIn(input)
    const audit = auditIn(input)
    const prices = await pricesIn(input)
    const opened = await openClient(input, process.env)
    const stop = new AbortController()
    let forget = () => {}
    let session: AgentSession | undefined
    try {
      const prompt = await readPrompt(input, terminal, notify)
      const directory = directoryIn(input)
      const project = await projectOf(input, terminal, notify)
      forget = onInterrupt(stop)
      session = await openAgentSession({
        kind: 'run',
        client: opened.client,
        model: opened.model,
        directory,
        configFiles: filesIn(input),
        project,
        permissions: await openPermissions({
          machine: machineAt(directory),
          project,
          fromFlags,
          refusal: refuseUnasked(notify),
        }),
        resume: input.text('resume'),
        skillIndex: urlIn(input, 'skills'),
        contextWindow,
        audit,
        isStrict: true,
        notify,
      })
      reportServerChanges(session.host, notify)
      await settled(session.host, stop.signal, notify)
      for (const idle of idlePermissionRules(fromFlags, session)) notify(idle)
      return await converse(session, prompt, { input, terminal, notify, prices, signal: stop.signal })
    } finally {
      forget()
      await session?.close()
      await opened.close()
    }
  },
}

type Talking = {
  readonly input: Input
  readonly terminal: Terminal
  readonly notify: (message: string) => void
  readonly prices: PriceTable
  readonly signal: AbortSignal
}

async function converse(session: AgentSession, prompt: string, talking: Talking): Promise<ExitCode> {
  const { input, terminal, notify, prices, signal } = talking
  const meter = createAgentMeter({ shelf: session.shelf, prices })
  const ledger: Ledger = {
    text: '',
    calls: [],
    loaded: [],
    usage: noUsage,
  }
  let isFirst = true
  const isStream = input.isSet('stream-json')
  const isWhole = input.isSet('json')
  let retried = ''
  let end: { reason: EndReason; error?: string | undefined } = { reason: 'failed' }
  if (isStream) terminal.print(toJson({ type: 'session', session: session.file }))
  for await (const event of session.agent.send(prompt, { signal })) {
    if (isStream) terminal.print(toJson(toLine(event)))
    note(event, ledger)
    meter.follow(event)
    if (terminal.isInteractive && !isStream) reportProgress(event, isFirst, notify)
    if (event.type === 'request') isFirst = false
    if (event.type === 'notice') notify(event.text)
    if (event.type === 'retry' && event.reason !== retried) {
      retried = event.reason
      notify(`${event.reason.replace(/[^.!?]$/, '$&.')} Trying again.`)
    }
    if (event.type === 'end') end = { reason: event.reason, error: event.error }
  }
  if (isWhole) terminal.print(toJson({ ...end, ...ledger, ...meter.figures(), session: session.file }))
  else if (!isStream && ledger.text !== '')
    terminal.print(process.stdout.isTTY ? harmless(ledger.text) : ledger.text)
  if (end.reason !== 'done' && !isWhole)
    notify(end.error ?? `${end.reason}. To continue: ${resumeOptions(session.file, directoryIn(input))}`)
  return EXIT[end.reason]
}

/** Waits some seconds for servers to start, and reports which ones it waits for and gives up on. */
async function settled(host: McpHost, signal: AbortSignal, notify: (message: string) => void): Promise<void> {
  const stop = reportWaiting(host, notify)
  await Promise.race([host.settled({ timeoutMs: SERVERS_TIMEOUT_MS }), aborted(signal)])
  stop()
  const starting = startingServers(host)
  if (starting && !signal.aborted)
    notify(`continuing without ${starting.named}, which ${starting.verb} still starting.`)
}

const SERVERS_TIMEOUT_MS = 10_000

/** Shows progress to the user. Tool searches are not shown. */
function reportProgress(event: AgentEvent, isFirst: boolean, notify: (message: string) => void): void {
  if (event.type === 'request' && isFirst) notify(`asking ${event.sent.request.model} …`)
  if (event.type === 'call' && event.call.name !== SEARCH_TOOL) notify(`running ${event.call.name} …`)
  if (event.type === 'result' && event.outside)
    notify(`${event.call.name} used, outside of the working folder: ${event.outside.map(visible).join(', ')}`)
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

/** 0 done · 1 failed · 3 the model stopped early · 130 stopped by a signal. */
const EXIT: { readonly [reason in EndReason]: ExitCode } = {
  done: 0,
  failed: 1,
  limit: 3,
  refused: 3,
  stopped: 130,
}

type Ledger = {
  /** The model's last reply. */
  text: string
  readonly calls: {
    readonly name: string
    readonly input: unknown
    readonly isError: boolean
    /** Files outside of the working folder that it read or changed. */
    readonly outside?: readonly string[]
  }[]
  readonly loaded: string[]
  usage: TokenUsage
}

function note(event: AgentEvent, ledger: Ledger): void {
  spend(event, ledger)
  if (event.type === 'request') ledger.text = ''
  if (event.type === 'text') ledger.text += event.text
  if (event.type === 'result') {
    ledger.loaded.push(...event.loaded)
    if (event.call.name !== SEARCH_TOOL)
      ledger.calls.push({
        name: event.call.name,
        input: event.call.input,
        isError: event.result.is_error === true,
        ...(event.outside ? { outside: event.outside } : {}),
      })
  }
}

/** Includes what sub-agents spent. */
function spend(event: AgentEvent, ledger: Ledger): void {
  if (event.type === 'inside') spend(event.event, ledger)
  if (event.type === 'reply' || event.type === 'broken-off')
    ledger.usage = addUsage(ledger.usage, event.usage)
}

/** Replaces a long request with a one-line summary. */
function toLine(event: AgentEvent): object {
  if (event.type === 'inside') return { ...event, event: toLine(event.event) }
  if (event.type !== 'request') return event
  const { decision, loaded, request } = event.sent
  const tools = Array.isArray(request.tools) ? request.tools.length : 0
  return { type: 'request', model: request.model, tools, loaded, decision }
}
