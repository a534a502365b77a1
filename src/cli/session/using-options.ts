// Options that help a model use tools it cannot see, shared by all commands with an agent.
import type { ToolUseHelpOptions } from '../../agent/using/index.ts'
import { type Input, type Option, UsageError } from '../command.ts'

/** Names and descriptions of the options. */
export const usingOptions: { readonly [name: string]: Option } = {
  describe: {
    type: 'string',
    value: 'characters',
    about: 'characters of description to send with each deferred name (default: 0)',
  },
  remind: {
    type: 'string',
    value: 'number',
    about: 'most relevant deferred tools to name with each message (default: 0)',
  },
  'no-preload': { type: 'boolean', about: 'do not load tools that a message names exactly' },
  learn: { type: 'boolean', about: 'keep tools loaded that most of your sessions load' },
}

/** Reads the options. */
export function readUsing(input: Input): ToolUseHelpOptions {
  return {
    describe: numberIn(input, 'describe', 999),
    remind: numberIn(input, 'remind', 99),
    preload: !input.isSet('no-preload'),
    learn: input.isSet('learn'),
  }
}

function numberIn(input: Input, option: string, max: number): number {
  const value = input.text(option) ?? '0'
  if (!/^\d{1,3}$/.test(value) || Number(value) > max)
    throw new UsageError(`--${option} is "${value}"; use a number from 0 to ${max}.`)
  return Number(value)
}
