// `toolshelf wrap`: runs an agent with the Messages gateway in front of its model, for as long as the agent runs.

import type { ChildProcess } from 'node:child_process'
import { STATUS_CODES } from 'node:http'
import { constants } from 'node:os'
import { basename } from 'node:path'
import spawn from 'cross-spawn'
import { addFigures } from '../core/figures/index.ts'
import type { Environment } from '../lib/index.ts'
import {
  createMessagesGateway,
  createMessagesMetrics,
  type MessagesHttpGateway,
  type RequestRecord,
  serveMessagesGateway as serveMessages,
} from '../messages/index.ts'
import { counted, printable, printableLine } from '../terminal/index.ts'
import { type Command, CommandError, type Input, UsageError, windowIn } from './command.ts'
import {
  messagesOptions,
  modeIn,
  openUpstream,
  requireForwardableUpstream,
  savedInAll,
  wireIn,
} from './gateway/index.ts'
import { pricesIn, pricesOption } from './prices.ts'

export const wrapCommand: Command = {
  name: 'wrap',
  summary:
    'Runs an agent with tool search in front of its model: starts "toolshelf serve" on a free port, points the agent at it, ends it with the agent, and says what was saved.',
  words: '[--upstream <where>] [--mode <mode>] -- <command> [<argument> …]',
  options: {
    ...messagesOptions,
    upstream: {
      ...messagesOptions.upstream,
      about:
        'anthropic, a compatible URL, openai:URL, responses:URL, script:FILE or script:demo (default: the model that the agent would use)',
    },
    ...pricesOption,
    quiet: { type: 'boolean', short: 'q', about: 'do not print what was saved' },
  },
  examples: [
    'toolshelf wrap -- claude',
    'toolshelf wrap --upstream openai:http://127.0.0.1:11434/v1 -- opencode',
    'toolshelf wrap -- codex',
    'toolshelf wrap -- python agent.py',
  ],
  async run(input, terminal) {
    const [command, ...args] = input.words
    if (command === undefined)
      throw new UsageError('name the agent after "--", as in: toolshelf wrap -- claude')
    const notify = (message: string) => terminal.report(printable(`toolshelf wrap: ${message}`))
    const finished: RequestRecord[] = []
    const where = input.text('upstream') ?? upstreamFor(command, process.env)
    const served = await startServer(input, where, (done) => void finished.push(done))
    let code = 0
    try {
      const own = agentArguments(command, served.url, where, process.env)
      code = await runAgent(command, [...own, ...args], agentEnvironment(served.url, process.env), notify)
    } finally {
      await served.close()
    }
    const hasRun = code !== NOT_FOUND && code !== NOT_RUNNABLE
    if (hasRun && !input.isSet('quiet')) for (const line of summary(finished, served.url)) notify(line)
    return code
  },
}

async function startServer(
  input: Input,
  where: string,
  onDone: (done: RequestRecord) => void,
): Promise<MessagesHttpGateway> {
  const setting = modeIn(input)
  const model = await openUpstream(where, wireIn(input), process.env)
  requireForwardableUpstream(model, [setting])
  // The agent draws on the terminal, so nothing may be printed while it runs.
  const notify = () => {}
  const gateway = createMessagesGateway({
    upstream: model,
    contextWindow: windowIn(input),
    prices: await pricesIn(input),
    keep: input.texts('keep'),
    notify,
  })
  return serveMessages({ gateway, setting, metrics: createMessagesMetrics(), port: 0, notify, onDone }).catch(
    (error: unknown) => {
      throw new CommandError((error as Error).message)
    },
  )
}

/** Returns the model that the agent would use without us, as a value of `--upstream`. */
export function upstreamFor(command: string, environment: Environment): string {
  const { ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN } = environment
  const { OPENAI_BASE_URL, OPENAI_API_BASE, OPENAI_API_KEY } = environment
  if (ANTHROPIC_BASE_URL) return ANTHROPIC_BASE_URL
  if (ANTHROPIC_API_KEY || ANTHROPIC_AUTH_TOKEN || basename(command).startsWith('claude')) return 'anthropic'
  const openai = OPENAI_BASE_URL || OPENAI_API_BASE
  if (openai) return `openai:${openai}`
  if (isCodex(command)) return 'responses'
  return OPENAI_API_KEY ? 'openai' : 'anthropic'
}

const isCodex = (command: string) => basename(command).startsWith('codex')

/**
 * Returns the arguments that point an agent at the gateway if no variable does. Codex reads the URL of its model from its
 * configuration only, which `-c` overrides.
 */
export function agentArguments(
  command: string,
  url: string,
  upstream: string,
  { OPENAI_API_KEY }: Environment,
): string[] {
  if (!isCodex(command)) return []
  const provider = 'model_providers.toolshelf-wrap'
  const login = upstream.startsWith('script:') ? [] : [`${provider}.requires_openai_auth=true`]
  return [
    'model_provider="toolshelf-wrap"',
    `${provider}.name="Toolshelf"`,
    `${provider}.base_url="${url}/v1"`,
    `${provider}.wire_api="responses"`,
    // Without a key in the environment Codex sends the one that it has stored.
    ...(OPENAI_API_KEY ? [`${provider}.env_key="OPENAI_API_KEY"`] : login),
  ].flatMap((setting) => ['-c', setting])
}

/** Returns the environment that points an agent of any API format at the gateway. */
export function agentEnvironment(url: string, environment: Environment): NodeJS.ProcessEnv {
  const openai = `${url}/v1`
  const hasProxy = Object.keys(environment).some((name) => /^(?:https?|all)_proxy$/i.test(name))
  const direct = [environment.NO_PROXY ?? environment.no_proxy ?? '', new URL(url).hostname]
  const list = direct.filter((host) => host !== '').join(',')
  return {
    ...environment,
    ANTHROPIC_BASE_URL: url,
    OPENAI_BASE_URL: openai,
    OPENAI_API_BASE: openai,
    ...(hasProxy ? { NO_PROXY: list, no_proxy: list } : {}),
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const
/** Exit codes of shells for a program that does not exist or cannot be run. */
const [NOT_FOUND, NOT_RUNNABLE] = [127, 126]

/** Runs the agent, forwards signals to it, and returns its exit code as a shell would. */
async function runAgent(
  command: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  notify: (message: string) => void,
): Promise<number> {
  const agent: ChildProcess = spawn(command, [...args], { stdio: 'inherit', env: environment })
  // The terminal also sends Ctrl-C to the agent, so forwarding it would deliver it twice.
  const isKey = (signal: NodeJS.Signals) =>
    (signal === 'SIGINT' || signal === 'SIGQUIT') && process.stdin.isTTY
  const pass = (signal: NodeJS.Signals) => void (isKey(signal) || agent.kill(signal))
  for (const signal of SIGNALS) process.on(signal, pass)
  try {
    return await new Promise<number>((resolve, reject) => {
      agent.once('error', reject)
      agent.once('close', (code, signal) =>
        resolve(code ?? 128 + (signal === null ? 1 : constants.signals[signal])),
      )
    })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const what = code === 'ENOENT' ? 'there is no such program' : `it cannot be run (${code})`
    notify(`${command}: ${what}.`)
    return code === 'ENOENT' ? NOT_FOUND : NOT_RUNNABLE
  } finally {
    for (const signal of SIGNALS) process.off(signal, pass)
  }
}

/** Describes what the gateway did while the agent ran. */
export function summary(finished: readonly RequestRecord[], url: string): string[] {
  const samplings = finished.filter(({ outcome, path }) => outcome && !path.endsWith('count_tokens'))
  const failed = finished.filter(isFailed)
  const failures = failed.slice(-1).map(({ error, status }) => {
    const reason =
      error === undefined ? `${status} ${STATUS_CODES[status] ?? ''}`.trim() : printableLine(error)
    return `${counted(failed.length, 'request')} failed, the last one: ${reason}`
  })
  const figures = samplings.flatMap(({ outcome }) => outcome?.figures() ?? [])
  if (figures.length > 0) return [savedInAll(figures.reduce(addFigures), samplings.length), ...failures]
  const why = samplings.findLast((one) => !isFailed(one))?.outcome?.why
  if (why !== undefined)
    return [`${counted(samplings.length, 'request')}, nothing was put on the shelf (${why})`, ...failures]
  if (samplings.length > 0) return failures
  // A failed request shows that the agent did reach the gateway.
  const hint = failed.length > 0 ? '' : ' Does the agent read ANTHROPIC_BASE_URL or OPENAI_BASE_URL?'
  return [`no request for the model came to ${url}.${hint}`, ...failures]
}

/** An upstream's refusal that was passed on unchanged has a status, but no error of ours. */
function isFailed({ error, status }: RequestRecord): boolean {
  return error !== undefined || status >= 400
}
