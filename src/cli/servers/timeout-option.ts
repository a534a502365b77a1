// The option --timeout of commands that start servers and wait for them.
import { type Input, type Option, UsageError } from '../command.ts'

/** The option, with its default in the help. */
export function timeoutOption(defaultSeconds: number): { readonly timeout: Option } {
  const about = `seconds that a server may take (default: ${defaultSeconds})`
  return { timeout: { type: 'string', value: 'seconds', about } }
}

/** Returns the value in milliseconds; undefined without the option. */
export function timeoutIn(input: Input): number | undefined {
  const value = input.text('timeout')
  if (value === undefined) return undefined
  const seconds = Number(value)
  if (!(seconds >= 1 && seconds <= 600))
    throw new UsageError(`--timeout is "${value}"; use a number of seconds from 1 to 600.`)
  return seconds * 1000
}
