// Options that help a model use tools it cannot see, shared by all commands with an agent.
import type { UsingOptions } from '../../agent/using/index.ts'
import { type Input, type Option, UsageError } from '../command.ts'

export const usingOptions: { readonly [name: string]: Option } = {
  describe: {
    type: 'string',
    value: 'characters',
    about: 'of description with each deferred name; 0 if left out',
  },
  remind: {
    type: 'string',
    value: 'number',
    about: 'name this many relevant deferred tools with each message; 0 if left out',
  },
  'no-preload': { type: 'boolean', about: 'do not load tools that a message names exactly' },
  learn: { type: 'boolean', about: 'keep tools loaded that most of your sessions load' },
}

export function readUsing(input: Input): UsingOptions {
  return {
    describe: numberIn(input, 'describe', 999),
    remind: numberIn(input, 'remind', 99),
    preload: !input.isSet('no-preload'),
    learn: input.isSet('learn'),
  }
}

function numberIn(input: Input, option: string, most: number): number {
  const given = input.text(option) ?? '0'
  if (!/^\d{1,3}$/.test(given) || Number(given) > most)
    throw new UsageError(`--${option} is "${given}"; use a number from 0 to ${most}.`)
  return Number(given)
}
