// Creates the model client of chat, run and demo: an API with a key, any compatible URL, or a script.
import Anthropic from '@anthropic-ai/sdk'
import { createMessagesGateway, createMessagesMetrics, serveMessagesGateway } from '../../messages/index.ts'
import type { ModelScript } from '../../messages/upstream/index.ts'
import { createScriptUpstream } from '../../messages/upstream/index.ts'
import { proxiedFetch } from '../../node/index.ts'
import { rankers } from '../../rankers/index.ts'
import { CommandError, type Input, type Option, UsageError, urlIn } from '../command.ts'
import { readScriptNamed } from '../script-option.ts'
import { MODEL } from './default-model.ts'

/** A client with its model. */
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
  model: { type: 'string', value: 'id', about: `model (default: ANTHROPIC_MODEL, or ${MODEL})` },
  'base-url': { type: 'string', value: 'url', about: 'URL of a compatible API, such as `toolshelf serve`' },
  script: {
    type: 'string',
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
