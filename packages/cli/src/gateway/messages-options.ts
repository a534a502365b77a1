// The options of `toolshelf serve` that count for an agent of its own too: the upstream, and how tools are handled.
import { type MessagesGatewayOptions, type ModeSetting, parseModeSetting } from '@toolshelf/messages'
import { type UpstreamWire, wires } from '@toolshelf/messages/internal'
import { type Command, type Input, UsageError, windowIn } from '../command.ts'
import { pricesIn, pricesOption } from '../prices.ts'
import { openUpstream } from './upstreams.ts'

export const messagesOptions = {
  upstream: {
    type: 'string',
    value: 'where',
    values: ['anthropic', 'openai:', 'responses:', 'script:'],
    about:
      'anthropic, a compatible URL, openai:URL, responses:URL, script:FILE or script:demo (default: anthropic; with an agent, the model that it would use)',
  },
  mode: {
    type: 'string',
    value: 'mode',
    values: ['auto', 'auto:', 'pass', 'emulate', 'shelve', 'off'],
    about: 'auto, auto:N (% of window), pass, emulate, shelve or off (default: auto)',
  },
  wire: {
    type: 'string',
    value: 'wire',
    values: wires,
    about: 'native, append or bridge (default: by model)',
  },
  keep: {
    type: 'string',
    value: 'name',
    isMultiple: true,
    about: 'tool that is always sent; * matches anything',
  },
  window: {
    type: 'string',
    value: 'tokens',
    about: 'context window for auto, in tokens, of models that are not known (default: 200000)',
  },
  results: {
    type: 'string',
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
  const upstream = await openUpstream(where, wireIn(input), process.env)
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

function wireIn(input: Input): UpstreamWire | undefined {
  const value = input.text('wire')
  const wire = wires.find((one) => one === value)
  if (value !== undefined && !wire)
    throw new UsageError(`--wire is "${value}"; use one of ${wires.join(', ')}.`)
  return wire
}

function resultBudgetIn(input: Input): number | undefined {
  const value = input.text('results')
  if (value === undefined) return undefined
  if (/^[1-9]\d{2,8}$/.test(value)) return Number(value)
  throw new UsageError(`--results is "${value}"; use a number of characters, at least 100, such as 25000.`)
}
