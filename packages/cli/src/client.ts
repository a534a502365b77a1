// What the agent commands need around a session: the model that answers, the prompt, interruptions, and the view.
import { fstatSync } from 'node:fs'
import { addAbortSignal } from 'node:stream'
import { isatty } from 'node:tty'
import Anthropic from '@anthropic-ai/sdk'
import { rankers } from '@toolshelf/core'
import { proxiedFetch } from '@toolshelf/core/internal/node'
import { createMessagesGateway, createScriptUpstream } from '@toolshelf/messages'
import type { ModelScript } from '@toolshelf/messages/internal'
import {
  CommandError,
  type Input,
  type Option,
  type PipedInput,
  type Terminal,
  UsageError,
  urlIn,
} from './command.ts'
import { createMessagesMetrics } from './http/messages/metrics.ts'
import { serveMessagesGateway } from './http/messages/server.ts'
import { MODEL } from './prices.ts'
import { readScriptNamed } from './script-option.ts'

export type OpenedClient = {
  readonly client: Anthropic
  readonly model: string
  /** A short description for the user. */
  readonly about: string
  readonly isScript: boolean
  close(): Promise<void>
}

/** The options that choose a model, shared by all commands that use one. */
export const modelOptions: { readonly [name: string]: Option } = {
  model: { value: 'id', about: `model (default: ANTHROPIC_MODEL, or ${MODEL})` },
  'base-url': { value: 'url', about: 'URL of a compatible API, such as `toolshelf serve`' },
  script: {
    value: 'file',
    about: 'answer from a script (docs/script.md) instead of a model; demo is built in',
  },
}

/** Creates the client that the options and the environment choose; `without` says how to do without a model. */
export async function openClient(
  input: Input,
  environment: NodeJS.ProcessEnv,
  without = 'try it without a model: --script demo',
): Promise<OpenedClient> {
  const file = input.text('script')
  if (file !== undefined && input.text('base-url') !== undefined)
    throw new UsageError('--script and --base-url cannot be combined; use one of them.')
  if (file !== undefined) return openScript(await readScriptFile(file), `the script ${file}, no model`)
  const baseURL = urlIn(input, 'base-url', {
    name: 'ANTHROPIC_BASE_URL',
    url: environment.ANTHROPIC_BASE_URL,
  })
  const apiKey = keyIn(environment, 'ANTHROPIC_API_KEY')
  const authToken = keyIn(environment, 'ANTHROPIC_AUTH_TOKEN')
  if (!apiKey && !authToken && !baseURL)
    throw new CommandError(
      `no model is configured. Set ANTHROPIC_API_KEY, pass the URL of a compatible API with --base-url (for a local model: "toolshelf serve --upstream openai:URL"), or ${without}.`,
    )
  const model = input.text('model') ?? environment.ANTHROPIC_MODEL ?? MODEL
  const client = new Anthropic({
    // The SDK takes one of the two; a token is set for a gateway, so it wins over a key from elsewhere.
    ...(authToken ? { apiKey: null, authToken } : { apiKey: apiKey || 'none' }),
    ...(baseURL ? { baseURL } : {}),
    maxRetries: 0,
    fetch: proxiedFetch,
    // We report errors ourselves: the SDK would print the API's response to the terminal unfiltered.
    logLevel: (environment.ANTHROPIC_LOG as 'debug' | undefined) ?? 'off',
  })
  return {
    client,
    model,
    about: baseURL ? `${model} at ${baseURL}` : model,
    isScript: false,
    close: async () => {},
  }
}

/** Rejects an unsendable key here: further down it would be part of the error message. */
function keyIn(environment: NodeJS.ProcessEnv, name: string): string | undefined {
  const key = environment[name]?.trim()
  if (key !== undefined && /[^ -~]/.test(key))
    throw new CommandError(
      `${name} contains a line break or another character that a key cannot have; set it again.`,
    )
  return key
}

/** Runs a script behind a real Messages API on loopback: the requests are the same as for a model. */
export async function openScript(script: ModelScript, about: string): Promise<OpenedClient> {
  const gateway = createMessagesGateway({
    upstream: createScriptUpstream({ script }),
    rankers: { own: rankers.hybrid, bm25: rankers.hybrid, regex: rankers.regex },
    keep: [],
    notify: () => {},
  })
  const setting = { mode: 'emulate', share: 100 } as const
  const served = await serveMessagesGateway({ gateway, setting, metrics: createMessagesMetrics(), port: 0 })
  const client = new Anthropic({ apiKey: 'none', baseURL: served.url, maxRetries: 0 })
  return { client, model: 'toolshelf-script', about, isScript: true, close: served.close }
}

async function readScriptFile(file: string): Promise<ModelScript> {
  try {
    return await readScriptNamed(file)
  } catch (error) {
    throw error instanceof UsageError ? error : new CommandError((error as Error).message)
  }
}

/** Milliseconds to wait for piped input: programs that start us often leave a silent pipe open. */
const INPUT_TIMEOUT_MS = 3000

/** Throws if there can be no prompt, before anything is read. */
export function checkPrompt({ words }: Input, terminal: Terminal): void {
  if (words.length === 0 && !inputOf(terminal).isPiped)
    throw new UsageError('no prompt; pass it as an argument, or through a pipe.')
}

/** Reads the prompt. The argument `-` means piped input, and waits for it without a timeout. */
export async function readPrompt(
  { words }: Input,
  terminal: Terminal,
  notify: (message: string) => void,
): Promise<string> {
  const { stream, isPiped } = inputOf(terminal)
  const said = words.filter((word) => word !== '-').join(' ')
  const isAwaited = words.includes('-') || words.length === 0
  const piped = isAwaited || isPiped ? await readPiped(stream, isAwaited, notify) : ''
  const prompt = [said, piped.trim()].filter((part) => part.trim() !== '').join('\n\n')
  if (prompt === '') throw new UsageError('the prompt is empty.')
  return prompt
}

function inputOf({ input }: Terminal): PipedInput {
  if (input) return input
  const kind = fstatSync(0)
  return { stream: process.stdin, isPiped: kind.isFIFO() || kind.isFile() || kind.isSocket() }
}

async function readPiped(
  stream: PipedInput['stream'],
  isAwaited: boolean,
  notify: (message: string) => void,
): Promise<string> {
  const silence = new AbortController()
  const timer = setTimeout(() => (isAwaited ? notify(WAITING) : silence.abort()), INPUT_TIMEOUT_MS)
  const chunks: Buffer[] = []
  try {
    for await (const chunk of addAbortSignal(silence.signal, stream)) {
      clearTimeout(timer)
      chunks.push(chunk as Buffer)
    }
  } catch (error) {
    if (!silence.signal.aborted) throw error
    notify('nothing came through the pipe; continuing without it. If there is no input, add "< /dev/null".')
  } finally {
    clearTimeout(timer)
  }
  return Buffer.concat(chunks).toString('utf8')
}

const WAITING = 'waiting for the prompt on standard input.'

/** Without a terminal SIGHUP gets no handler: one would undo `nohup`. */
const signals = (): NodeJS.Signals[] => [
  'SIGINT',
  'SIGTERM',
  ...([0, 1, 2].some(isatty) ? ['SIGHUP' as const] : []),
]

/** Handles signals; returns a function that removes the handlers. */
export function onInterrupt(stop: AbortController): () => void {
  const heard = signals()
  const forget = () => {
    for (const signal of heard) process.off(signal, interrupt)
  }
  const interrupt = () => {
    if (!stop.signal.aborted) return stop.abort()
    // A third signal kills the process even if a blocking read delays the exit.
    forget()
    process.exit(130)
  }
  for (const signal of heard) process.on(signal, interrupt)
  return forget
}

/**
 * Imports a view. During the import it removes `CI`, because Ink draws nothing if it is set, and sets `NODE_ENV`,
 * because React otherwise runs in its slow development mode.
 */
export async function loadView<View>(importView: () => Promise<View>): Promise<View> {
  const { env } = process
  const { CI, NODE_ENV } = env
  delete env.CI
  env.NODE_ENV = 'production'
  try {
    return await importView()
  } finally {
    if (CI !== undefined) env.CI = CI
    if (NODE_ENV === undefined) delete env.NODE_ENV
    else env.NODE_ENV = NODE_ENV
  }
}
