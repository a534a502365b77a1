// The option --timeout of commands that start servers and wait for them.
import { type Input, type Option, UsageError } from '../command.ts'

export function timeoutOption(defaultSeconds: number): { readonly timeout: Option } {
  const about = `seconds that a server may take (default: ${defaultSeconds})`
  return { timeout: { type: 'string', value: 'seconds', about } }
}

/** Milliseconds; undefined without the option. */
export function timeoutIn(input: Input): number | undefined {
  const given = input.text('timeout')
  if (given === undefined) return undefined
  const seconds = Number(given)
  if (!(seconds >= 1 && seconds <= 600))
    throw new UsageError(`--timeout is "${given}"; use a number of seconds from 1 to 600.`)
  return seconds * 1000
}
