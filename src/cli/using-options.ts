// Options that help a model use what it cannot see, for every command with an agent.
import type { UsingOptions } from '../agent/using/index.ts'
import { type Input, type Option, UsageError } from './command.ts'

export const usingOptions: { readonly [name: string]: Option } = {
  remind: {
    type: 'string',
    value: 'number',
    about: 'name so many deferred tools that fit each message; 0 if left out',
  },
  'no-preload': { type: 'boolean', about: 'do not load tools that a message names exactly' },
  learn: { type: 'boolean', about: 'keep tools loaded that most of your sessions load' },
}

export function readUsing(input: Input): UsingOptions {
  const remind = input.text('remind') ?? '0'
  if (!/^\d{1,2}$/.test(remind)) throw new UsageError(`--remind is "${remind}"; use a number from 0 to 99.`)
  return { remind: Number(remind), preload: !input.isSet('no-preload'), learn: input.isSet('learn') }
}
