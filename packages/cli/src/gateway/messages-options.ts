// The options of `toolshelf serve` that count for an agent of its own too: the upstream, and how tools are handled.
import type { Environment } from '@toolshelf/core/internal'
import {
  createChatUpstream,
  createMessagesUpstream,
  createResponsesUpstream,
  createScriptUpstream,
  type MessagesGatewayOptions,
  type ModeSetting,
  parseModeSetting,
  type Upstream,
} from '@toolshelf/messages'
import { ANTHROPIC, type UpstreamWire, wires } from '@toolshelf/messages/internal'
import {
  type Command,
  CommandError,
  choiceIn,
  type Input,
  numberIn,
  UsageError,
  windowIn,
} from '../command.ts'
import { pricesIn, pricesOption } from '../prices.ts'
import { readScriptNamed } from '../script-option.ts'

export const messagesOptions = {
  upstream: {
    value: 'where',
    values: ['anthropic', 'openai:', 'responses:', 'script:'],
    about:
      'anthropic, a compatible URL, openai:URL, responses:URL, script:FILE or script:demo (default: anthropic; with an agent, the model that it would use)',
  },
  mode: {
    value: 'mode',
    values: ['auto', 'auto:', 'pass', 'emulate', 'shelve', 'off'],
    about: 'auto, auto:N (% of window), pass, emulate, shelve or off (default: auto)',
  },
  wire: { value: 'wire', values: wires, about: 'native, append or bridge (default: by model)' },
  keep: { value: 'name', isMultiple: true, about: 'tool that is always sent; * matches anything' },
  window: {
    value: 'tokens',
    about: 'context window for auto, in tokens, of models that are not known (default: 200000)',
  },
  results: {
    value: 'characters',
    about: 'longest tool result to send whole, in characters (default: no limit)',
  },
  ...pricesOption,
} satisfies Command['options']

/** Opens the upstream and reads what else the gateway takes of these options; `settings` are the modes of all clients. */
export async function gatewayOptionsIn(
  input: Input,
  where: string,
  settings: readonly (ModeSetting | undefined)[],
) {
  const upstream = await openUpstream(where, choiceIn(input, 'wire', wires), process.env)
  if (!upstream.origin && settings.some((one) => one?.mode === 'pass'))
    throw new UsageError(
      `the mode pass needs an upstream to forward to; ${upstream.name} runs in this process.`,
    )
  return {
    upstream,
    contextWindow: windowIn(input),
    prices: await pricesIn(input),
    keep: input.texts('keep'),
    resultBudget: resultBudgetIn(input),
  } satisfies MessagesGatewayOptions
}

export function modeIn(input: Input): ModeSetting {
  const text = input.text('mode') ?? 'auto'
  const setting = parseModeSetting(text)
  if (setting) return setting
  throw new UsageError(
    `--mode is "${text}"; use auto, auto:N with N up to 100, pass, emulate, shelve or off.`,
  )
}

function resultBudgetIn(input: Input): number | undefined {
  const isBudget = (_: number, text: string) => /^[1-9]\d{2,8}$/.test(text)
  return numberIn(input, 'results', isBudget, 'a number of characters, at least 100, such as 25000')
}

const OPENAI = new URL('https://api.openai.com/v1')

/** Opens `anthropic`, a URL, `openai[:URL]`, `responses[:URL]`, `script:FILE` or `script:demo`. */
export async function openUpstream(
  text: string,
  wire: UpstreamWire | undefined,
  environment: Environment,
): Promise<Upstream> {
  const [, kind = '', rest = ''] = /^(anthropic|openai|responses|script)(?::(.*))?$/s.exec(text) ?? []
  const own = environment.TOOLSHELF_UPSTREAM_KEY
  const openaiKey = own ?? environment.OPENAI_API_KEY
  try {
    switch (kind) {
      case 'anthropic':
        return createMessagesUpstream({
          url: rest === '' ? ANTHROPIC : addressOf(rest),
          key: own,
          keyOtherwise: environment.ANTHROPIC_API_KEY,
          wire,
        })
      case 'openai':
        return createChatUpstream(
          withDefined({ url: rest === '' ? OPENAI : addressOf(rest), key: openaiKey, wire }),
        )
      case 'responses':
        return createResponsesUpstream(
          withDefined({ url: rest === '' ? OPENAI : addressOf(rest), key: openaiKey, wire }),
        )
      case 'script':
        return createScriptUpstream(
          withDefined({ script: await readScriptNamed(rest), name: `script:${rest}`, wire }),
        )
      default:
        return createMessagesUpstream({ url: addressOf(text), key: own, wire })
    }
  } catch (error) {
    throw error instanceof UsageError ? error : new CommandError((error as Error).message)
  }
}

function addressOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'http:' || url?.protocol === 'https:') {
    const isSecret = [...url.searchParams.keys()].some((name) => /key|token|secret|password|auth/i.test(name))
    if (url.username === '' && url.password === '' && !isSecret) return url
    throw new UsageError('--upstream contains a password or a key; set TOOLSHELF_UPSTREAM_KEY instead.')
  }
  throw new UsageError(
    `--upstream is "${text.replace(/\/\/[^/]*@/, '//…@')}"; use anthropic, an http(s) URL, openai:URL, responses:URL, script:FILE or script:demo.`,
  )
}

function withDefined<Options extends object>(
  options: Options,
): { [K in keyof Options]: Exclude<Options[K], undefined> } {
  const defined = Object.entries(options).filter(([, value]) => value !== undefined)
  return Object.fromEntries(defined) as { [K in keyof Options]: Exclude<Options[K], undefined> }
}
