// `toolshelf serve -- <agent>`: runs an agent with the Messages gateway in front of its model, for that agent only and
// for as long as it runs.
import { randomBytes } from 'node:crypto'
import { constants } from 'node:os'
import { basename } from 'node:path'
import type { Environment } from '@toolshelf/core/internal'
import { createMessagesGateway } from '@toolshelf/messages'
import spawn from 'cross-spawn'
import { CommandError, type Input, type Terminal, UsageError } from './command.ts'
import { gatewayOptionsIn, modeIn } from './gateway/messages-options.ts'
import { savedInAll } from './gateway/saved-text.ts'
import { type RequestRecord, serveMessagesGateway } from './http/messages/server.ts'
import { printable } from './terminal/pen.ts'

/** Serves one agent; returns its exit code. */
export async function serveAgent(input: Input, terminal: Terminal): Promise<number> {
  const [command, ...args] = input.program ?? []
  if (command === undefined)
    throw new UsageError('name the agent after "--", as in: toolshelf serve -- claude')
  const notify = (message: string) => terminal.report(printable(`toolshelf serve: ${message}`))
  const upstream = input.text('upstream') ?? upstreamFor(command, process.env)
  const setting = modeIn(input)
  // The agent draws on the terminal, so nothing may be printed while it runs.
  const silent = { notify: () => {} }
  const gateway = createMessagesGateway({
    ...(await gatewayOptionsIn(input, upstream, [setting])),
    ...silent,
  })
  // Any program of this machine reaches the port, so what the agent may spend needs a key.
  const secret = randomBytes(24).toString('base64url')
  const finished: RequestRecord[] = []
  const onDone = (done: RequestRecord) => void finished.push(done)
  const options = { gateway, setting, port: 0, keys: [{ secret }], onDone, ...silent }
  const served = await serveMessagesGateway(options).catch((error: Error) => {
    throw new CommandError(error.message)
  })
  const place = { url: served.url, secret }
  let code: number
  try {
    const own = agentArguments(command, served.url, upstream, process.env)
    code = await runAgent(command, [...own, ...args], agentEnvironment(command, place, process.env), notify)
  } finally {
    await served.close()
  }
  const hasRun = code !== NOT_FOUND && code !== NOT_RUNNABLE
  if (hasRun && !input.isSet('quiet')) for (const line of savedInAll(finished, served.url)) notify(line)
  return code
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

/** The variable with the key for Codex; not `TOOLSHELF_…`, which no agent gets. */
const CODEX_KEY = 'SHELF_AGENT_KEY'

/**
 * Returns the arguments that point an agent at the gateway if no variable does: Codex reads the URL of its model from its
 * configuration only, which `-c` overrides. All users of the machine can read arguments, so the key is in a variable.
 */
export function agentArguments(
  command: string,
  url: string,
  upstream: string,
  { OPENAI_API_KEY }: Environment,
) {
  if (!isCodex(command)) return []
  const provider = 'model_providers.toolshelf'
  const login = upstream.startsWith('script:') ? [] : [`${provider}.requires_openai_auth=true`]
  return [
    'model_provider="toolshelf"',
    `${provider}.name="Toolshelf"`,
    `${provider}.base_url="${url}/v1"`,
    `${provider}.wire_api="responses"`,
    `${provider}.env_http_headers.x-toolshelf-key="${CODEX_KEY}"`,
    // Without a key in the environment Codex sends the one that it has stored.
    ...(OPENAI_API_KEY ? [`${provider}.env_key="OPENAI_API_KEY"`] : login),
  ].flatMap((setting) => ['-c', setting])
}

/** Returns the environment that points an agent of any API format at the gateway, without variables of our own. */
export function agentEnvironment(
  command: string,
  { url, secret }: { readonly url: string; readonly secret: string },
  environment: Environment,
): NodeJS.ProcessEnv {
  const foreign = Object.entries(environment).filter(([name]) => !/^toolshelf_/i.test(name))
  const hasProxy = foreign.some(([name]) => /^(?:https?|all)_proxy$/i.test(name))
  const direct = [environment.NO_PROXY ?? environment.no_proxy ?? '', new URL(url).hostname]
  const list = direct.filter((host) => host !== '').join(',')
  const base = `${url}/${secret}`
  return {
    ...Object.fromEntries(foreign),
    ...{ ANTHROPIC_BASE_URL: base, OPENAI_BASE_URL: `${base}/v1`, OPENAI_API_BASE: `${base}/v1` },
    ...(isCodex(command) ? { [CODEX_KEY]: secret } : {}),
    ...(hasProxy ? { NO_PROXY: list, no_proxy: list } : {}),
  }
}

/** Exit codes of shells for a program that does not exist or cannot be run. */
const [NOT_FOUND, NOT_RUNNABLE] = [127, 126]

/** Runs the agent, forwards signals to it, and returns its exit code as a shell would. */
async function runAgent(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  notify: (message: string) => void,
): Promise<number> {
  const agent = spawn(command, [...args], { stdio: 'inherit', env })
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const
  // The terminal also sends Ctrl-C to the agent, so forwarding it would deliver it twice.
  const isKey = (signal: NodeJS.Signals) =>
    (signal === 'SIGINT' || signal === 'SIGQUIT') && process.stdin.isTTY
  const pass = (signal: NodeJS.Signals) => void (isKey(signal) || agent.kill(signal))
  for (const signal of signals) process.on(signal, pass)
  try {
    return await new Promise<number>((resolve, reject) => {
      agent.once('error', reject)
      agent.once('close', (code, signal) =>
        resolve(code ?? 128 + (signal === null ? 1 : constants.signals[signal])),
      )
    })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    notify(`${command}: ${code === 'ENOENT' ? 'there is no such program' : `it cannot be run (${code})`}.`)
    return code === 'ENOENT' ? NOT_FOUND : NOT_RUNNABLE
  } finally {
    for (const signal of signals) process.off(signal, pass)
  }
}
