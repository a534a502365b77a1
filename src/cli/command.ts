// What a command of the command line is, and how its words are read.
import { parseArgs } from 'node:util'
import { nearest } from '../core/tools/names.ts'

/** Where a command reads and writes: the process's own streams, or a test's. */
export type Terminal = {
  readonly print: (text: string) => void
  /** Progress, warnings and errors: never mixed into what is printed. */
  readonly tell: (text: string) => void
  /** Colours and progress bars make sense. */
  readonly isInteractive: boolean
  /** Asks the person; missing where nobody can answer. */
  readonly ask?: (question: string) => Promise<string>
}

export type Option = {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  readonly about: string
  /** How the value is called in the help. */
  readonly value?: string
}

export type Command = {
  readonly name: string
  readonly summary: string
  /** What stands after the name in the usage line. */
  readonly words: string
  readonly options: { readonly [name: string]: Option }
  readonly examples: readonly string[]
  readonly run: (input: Input, terminal: Terminal) => Promise<ExitCode>
}

export type Input = {
  readonly words: readonly string[]
  readonly text: (option: string) => string | undefined
  readonly isSet: (option: string) => boolean
}

/** 0 done · 1 it ran and failed · 2 the words of the call are wrong · 3 the model stopped early · 130 interrupted. */
export type ExitCode = 0 | 1 | 2 | 3 | 130

/** The words of a call are wrong: told with the command's usage, exit code 2. */
export class UsageError extends Error {}

/** It ran and failed for a reason that the person can mend: told without a stack, exit code 1. */
export class CommandError extends Error {}

export function readInput(command: Command, words: readonly string[]): Input {
  const options = Object.fromEntries(
    Object.entries({ ...command.options, help }).map(([name, { type, short }]) => [
      name,
      { type, ...(short ? { short } : {}) },
    ]),
  )
  try {
    const { values, positionals } = parseArgs({ args: [...words], options, allowPositionals: true })
    return {
      words: positionals,
      text: (option) => (typeof values[option] === 'string' ? (values[option] as string) : undefined),
      isSet: (option) => values[option] === true,
    }
  } catch (error) {
    const message = (error as Error).message.split('. To specify')[0] ?? ''
    const unknown = /^Unknown option '--([^']+)'/.exec(message)?.[1]
    throw new UsageError(message + (unknown ? didYouMean(unknown, Object.keys(options), '--') : ''))
  }
}

/** The nearest name as a question, if one is near. */
export function didYouMean(wanted: string, names: readonly string[], prefix = ''): string {
  const [near] = nearest(wanted, names, 1)
  return near === undefined ? '' : `; did you mean ${prefix}${near}?`
}

export const help: Option = { type: 'boolean', short: 'h', about: 'show this' }

export function helpFor(command: Command): string {
  const options = Object.entries({ ...command.options, help }).map(([name, option]) => {
    const value = option.type === 'string' ? ` <${option.value ?? 'text'}>` : ''
    return `  ${`--${name}${value}${option.short ? `, -${option.short}` : ''}`.padEnd(28)} ${option.about}`
  })
  return [
    `${command.summary}\n`,
    `Usage: toolshelf ${command.name} ${command.words}\n`,
    'Options:',
    ...options,
    '\nExamples:',
    ...command.examples.map((example) => `  ${example}`),
  ].join('\n')
}

/** The value of `--port`; 0 is any free one. */
export function portIn(input: Input, fallback: string): number {
  const given = input.text('port') ?? fallback
  if (!/^\d{1,5}$/.test(given) || Number(given) > 65_535)
    throw new UsageError(`--port is "${given}"; use a number from 0 to 65535.`)
  return Number(given)
}

/** The value of `--window`, a model's, in tokens. */
export function windowIn(input: Input): number | undefined {
  const given = input.text('window')
  if (given === undefined) return undefined
  if (!/^\d{4,8}$/.test(given))
    throw new UsageError(`--window is "${given}"; use a number of tokens, such as 32768.`)
  return Number(given)
}

/** What an option lists with commas between. */
export function listIn(input: Input, option: string): string[] {
  return (input.text(option) ?? '').split(',').filter((entry) => entry !== '')
}
