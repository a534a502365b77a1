// The options that "toolshelf serve" and "toolshelf wrap" share: the upstream, and how tools are handled.

import {
  type ModeSetting,
  parseModeSetting,
  type Upstream,
  type UpstreamWire,
  wires,
} from '../../messages/index.ts'
import { type Command, type Input, UsageError } from '../command.ts'

/** Options of the commands that run the Messages gateway. */
export const messagesOptions = {
  upstream: {
    type: 'string',
    value: 'where',
    values: ['anthropic', 'openai:', 'responses:', 'script:'],
    about:
      'anthropic, a compatible URL, openai:URL, responses:URL, script:FILE or script:demo (default: anthropic)',
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
} satisfies Command['options']

/** Returns the mode of `--mode`. */
export function modeIn(input: Input): ModeSetting {
  const text = input.text('mode') ?? 'auto'
  const setting = parseModeSetting(text)
  if (setting) return setting
  throw new UsageError(
    `--mode is "${text}"; use auto, auto:N with N up to 100, pass, emulate, shelve or off.`,
  )
}

/** Returns the value of `--wire`. */
export function wireIn(input: Input): UpstreamWire | undefined {
  const value = input.text('wire')
  const wire = wires.find((one) => one === value)
  if (value !== undefined && !wire)
    throw new UsageError(`--wire is "${value}"; use one of ${wires.join(', ')}.`)
  return wire
}

/** Refuses the mode pass, in any of the settings, for an upstream that runs in this process. */
export function requireForwardableUpstream(
  { name, origin }: Upstream,
  settings: readonly (ModeSetting | undefined)[],
): void {
  if (origin || !settings.some((one) => one?.mode === 'pass')) return
  throw new UsageError(`the mode pass needs an upstream to forward to; ${name} runs in this process.`)
}
