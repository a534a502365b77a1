// Defines what a command of the CLI is, and parses its arguments.
import type { Readable, Writable } from 'node:stream'
import type { ReadStream, WriteStream } from 'node:tty'
import { parseArgs } from 'node:util'
import { closestNames, cut, editDistance, hasCode, splitName } from '@toolshelf/core/internal'
import type { OptionError } from '@toolshelf/core/internal/node'

/** Where a command reads and writes: the process's own streams, or a test's. */
export type Terminal = {
  readonly print: (text: string) => void
  /** Progress, warnings and errors: never mixed into the output. */
  readonly report: (text: string) => void
  /** Whether colours and progress bars make sense. */
  readonly isInteractive: boolean
  /** Asks the user; missing if nobody can answer. */
  readonly ask?: (question: string) => Promise<string>
  /** Where piped input comes from; standard input if left out. */
  readonly input?: PipedInput
  /** Where a chat or the demo is drawn; the process's own terminal if left out. */
  readonly screen?: ScreenStreams
  /** Where an MCP client that started the command writes and reads; standard input and output if left out. */
  readonly client?: ClientStreams
}

/** The two pipes of a client that starts the command as its MCP server. */
export type ClientStreams = {
  readonly input: Readable & { readonly isTTY?: boolean }
  readonly output: Writable
}

export function clientOf({ client }: Terminal): ClientStreams {
  return client ?? { input: process.stdin, output: process.stdout }
}

/** The two streams of a terminal. */
export type ScreenStreams = { readonly input: ReadStream; readonly output: WriteStream }

export function screenOf({ screen }: Terminal): ScreenStreams {
  return screen ?? { input: process.stdin, output: process.stdout }
}

/** A stream that may hold a prompt. */
export type PipedInput = {
  readonly stream: Readable
  /** False for a terminal, which is read only on request. */
  readonly isPiped: boolean
}

export type Option = {
  readonly short?: string
  /** It may be repeated; any other option is an error if it is. */
  readonly isMultiple?: boolean
  readonly about: string
  /** The value may be left out: the option is then set without one. */
  readonly isValueOptional?: boolean
  /** What the value is; an option without it takes none. */
  readonly value?: string
  /** Values to choose from, for the help; one that ends in a colon takes more text. */
  readonly values?: readonly string[]
}

export type Command = {
  readonly name: string
  readonly summary: string
  /** What follows the name in the usage line. */
  readonly words: string
  /** For a command that takes options only: what to do instead of passing it an argument. */
  readonly noArguments?: string
  /** Words behind "--" are another program's command line. */
  readonly takesProgram?: boolean
  readonly options: { readonly [name: string]: Option }
  readonly examples: readonly string[]
  readonly run: (input: Input, terminal: Terminal) => Promise<ExitCode>
}

/** The parsed arguments of a command. */
export type Input = {
  readonly words: readonly string[]
  /** What follows "--", of a command that takes a program; missing without "--". */
  readonly program?: readonly string[]
  readonly text: (option: string) => string | undefined
  /** The values of an option that may be repeated. */
  readonly texts: (option: string) => readonly string[]
  readonly isSet: (option: string) => boolean
}

export const EXIT_CODES = '0 done, 1 failed, 2 invalid arguments, 3 the model stopped early, 130 interrupted'

/** One of `EXIT_CODES`; a command that runs another program returns that program's code. */
export type ExitCode = number

/** Asks a question to which only "y" and "yes" agree; false if nobody can answer. */
export async function agrees({ ask }: Terminal, question: string): Promise<boolean> {
  const answer = await ask?.(`${question} [y/N] `)
  return /^y(?:es)?$/i.test(answer?.trim() ?? '')
}

/** Thrown for invalid arguments: shown with the command's usage, exit code 2. */
export class UsageError extends Error {}

/** Thrown if the command failed for a reason that the user can fix: shown without a stack trace, exit code 1. */
export class CommandError extends Error {}

/** Converts a library error; for an error about an option, the remedy names the flag instead. */
export function withFlags(error: unknown, remedies: { readonly [option: string]: string }): CommandError {
  const remedy = hasCode<OptionError>(error, 'OPTION') && remedies[error.option]
  return new CommandError(remedy ? `${error.problem}; ${remedy}` : (error as Error).message)
}

/** Finds the action that the first word of a command names; `list` without words. */
export function chooseAction<Run>(
  actions: ReadonlyMap<string, Run>,
  [action = 'list', ...words]: readonly string[],
): { action: string; run: Run; words: string[] } {
  const run = actions.get(action)
  if (!run) throw new UsageError(`unknown action "${action}"; use ${[...actions.keys()].join(', ')}.`)
  return { action, run, words }
}

/** Throws a `UsageError` for options and arguments that the command does not take. */
export function readInput(command: Command, words: readonly string[]): Input {
  const input = parseInput(command, words)
  const [first] = input.words
  if (command.noArguments !== undefined && first !== undefined && !input.isSet('help'))
    throw new UsageError(`unexpected argument "${cut(first, 100)}"; ${command.noArguments}.`)
  return input
}

function parseInput(command: Command, line: readonly string[]): Input {
  const end = command.takesProgram ? line.indexOf('--') : -1
  const words = end < 0 ? line : line.slice(0, end)
  const options = Object.fromEntries(
    Object.entries({ ...command.options, help }).map(([name, { value, short }]) => [
      name,
      {
        type: value ? ('string' as const) : ('boolean' as const),
        multiple: true,
        ...(short ? { short } : {}),
      },
    ]),
  )
  const { args, bare } = withoutBare(command, words)
  const { values, positionals } = parsed(() => parseArgs({ args, options, allowPositionals: true }))
  const valuesOf = (option: string) => [values[option] ?? []].flat()
  for (const [name, { isMultiple, value }] of Object.entries({ ...command.options, help })) {
    const count = valuesOf(name).length + bare.filter((one) => one === name).length
    if (count < 2 || isMultiple) continue
    const once = value ? `takes one value: --${name} <${value}>` : 'counts once'
    throw new UsageError(`--${name} is given ${count === 2 ? 'twice' : `${count} times`}; it ${once}.`)
  }
  return {
    words: positionals,
    ...(end < 0 ? {} : { program: line.slice(end + 1) }),
    text: (option) => valuesOf(option).find((value) => typeof value === 'string'),
    texts: (option) => valuesOf(option).map(String),
    isSet: (option) => valuesOf(option).includes(true) || bare.includes(option),
  }

  function parsed<Result>(parse: () => Result): Result {
    try {
      return parse()
    } catch (error) {
      throw new UsageError(complaint(error as Error, command, words))
    }
  }
}

/** Takes out options that are given without their optional value. */
function withoutBare({ options }: Command, words: readonly string[]) {
  const end = words.indexOf('--')
  const bare: string[] = []
  const args = words.filter((word, index) => {
    const name = word.slice(2)
    const isOurs =
      word.startsWith('--') && (end < 0 || index < end) && options[name]?.isValueOptional === true
    const next = words[index + 1]
    if (!isOurs || (next !== undefined && !next.startsWith('-'))) return true
    bare.push(name)
    return false
  })
  return { args, bare }
}

/** Rewrites Node's messages about options. */
function complaint({ message }: Error, command: Command, words: readonly string[]): string {
  const options: Command['options'] = { ...command.options, help }
  const [, unknown] = /^Unknown option '([^']+)'/.exec(message) ?? []
  if (unknown !== undefined) {
    const near = didYouMean(unknown.replace(/^-+/, ''), Object.keys(options), '--')
    const takesWords = /^"?</.test(command.words)
    return `Unknown option '${unknown}'${near || (takesWords ? BEHIND_DASHES : '.')}`
  }
  const [, name = ''] = /^Option '(?:-\w, )?--([\w-]+)/.exec(message) ?? []
  const option = options[name]
  if (option === undefined) return message
  if (!option.value) return `--${name} takes no value.`
  const at = words.findIndex((word, index) => word === `--${name}` && /^(-|$)/.test(words[index + 1] ?? ''))
  const given = words[at + 1]
  const isOption = Object.keys(options).some((other) => given?.split('=')[0] === `--${other}`)
  if (given === undefined || isOption) return `--${name} needs a value: --${name} <${option.value}>.`
  return `--${name} is followed by "${given}". Write a value that begins with "-" as --${name}=${given}.`
}

const BEHIND_DASHES = '. Put words that begin with "-" after "--".'

/** Suggests the closest name, as a question; empty if none is close. */
export function didYouMean(wanted: string, names: readonly string[], prefix = ''): string {
  const near = closestNames(wanted, names).find((name) => isLikely(wanted, name))
  return near === undefined ? '' : `; did you mean ${prefix}${near}?`
}

/** Rejects a word that only shares letters in other places (`servers`, `verbose`) and so is not a typo. */
function isLikely(wanted: string, name: string): boolean {
  if (splitName(wanted).length > 1 || splitName(name).length > 1) return true
  const limit = Math.ceil(Math.max(wanted.length, name.length) / 3)
  return editDistance(wanted.toLowerCase(), name.toLowerCase(), limit) <= limit
}

/** The option `--help`, which every command has. */
const help: Option = { short: 'h', about: 'show this help' }

export function helpFor(command: Command): string {
  const options = Object.entries({ ...command.options, help })
  const indent = Math.max(...options.map((option) => titleOf(option).length)) + 2
  const lines = options.flatMap(([name, option]) => {
    const [first, ...more] = folded(`${option.about}${choiceOf(option)}`.split(' '), WIDTH - indent)
    return [titleOf([name, option]).padEnd(indent) + first, ...more.map((line) => ' '.repeat(indent) + line)]
  })
  const examples = command.examples.map((example) => {
    const isShort = example.length <= WIDTH - 2
    return isShort ? example : folded(example.split(/ (?=--)/), WIDTH - 8).join(' \\\n      ')
  })
  return [
    ...folded(command.summary.split(' '), WIDTH),
    '',
    usageOf(command),
    'Options:',
    ...lines,
    'Examples:',
    ...examples.map((example) => `  ${example}`),
  ].join('\n')
}

export function usageOf({ name, words }: Command): string {
  const parts = `Usage: toolshelf ${name} ${words}`.split(/ (?=\[|\||--)/)
  return folded(parts, WIDTH - 4).join('\n    ')
}

/** Width of a help screen in characters. */
const WIDTH = 80

function titleOf([name, option]: [string, Option]): string {
  const { value, short, isValueOptional, isMultiple } = option
  const shown = isValueOptional ? ` [<${value}>]` : ` <${value}>${isMultiple ? '…' : ''}`
  return `  --${name}${value ? shown : ''}${short ? `, -${short}` : ''}`
}

/** The values that the option's description does not mention. */
function choiceOf({ about, values = [] }: Option): string {
  return values.every((value) => about.includes(value)) ? '' : ` (${values.join(', ')})`
}

/** Wraps text to lines of at most this many characters. */
function folded(parts: readonly string[], maxWidth: number): string[] {
  const lines: string[] = []
  for (const part of parts) {
    const longer = `${lines.at(-1)} ${part}`
    if (lines.length > 0 && longer.length <= maxWidth) lines[lines.length - 1] = longer
    else lines.push(part)
  }
  return lines
}

/** Wraps a line between words if it is too long for the terminal. */
export function foldedLine(line: string, columns = process.stdout.columns || WIDTH): string {
  if (line.length < columns) return line
  const indent = /^ */.exec(line)![0]
  return folded(line.trimStart().split(' '), columns - indent.length - 1)
    .map((part) => indent + part)
    .join('\n')
}

/** Returns the number given with an option; undefined without it. `wanted` describes the numbers of which `isWanted` is true. */
export function numberIn(
  input: Input,
  option: string,
  isWanted: (value: number, text: string) => boolean,
  wanted: string,
): number | undefined {
  const text = input.text(option)
  if (text === undefined) return undefined
  if (isWanted(Number(text), text)) return Number(text)
  throw new UsageError(`--${option} is "${text}"; use ${wanted}.`)
}

/** Returns the value of an option that takes one of these; undefined without it. */
export function choiceIn<Value extends string>(input: Input, option: string, values: readonly Value[]) {
  const text = input.text(option)
  const value = values.find((one) => one === text)
  if (text === undefined || value !== undefined) return value
  throw new UsageError(`--${option} is "${text}"; use one of ${values.join(', ')}.`)
}

/** Returns the value of `--port`; 0 means any free port. */
export function portIn(input: Input, fallback: number): number {
  const isPort = (value: number, text: string) => /^\d{1,5}$/.test(text) && value <= 65_535
  return numberIn(input, 'port', isPort, 'a number from 0 to 65535') ?? fallback
}

/** Returns the http(s) URL of an option, or its default. */
export function urlIn(input: Input, option: string, otherwise?: { name: string; url: string | undefined }) {
  const value = input.text(option) ?? (otherwise?.url || undefined)
  if (value === undefined) return undefined
  const name = input.text(option) === undefined ? otherwise?.name : `--${option}`
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw new UsageError(`${name} is "${value}"; use an http(s) URL, such as http://127.0.0.1:3388.`)
  if (url.username !== '' || url.password !== '')
    throw new UsageError(`${name} must not contain a user name or password.`)
  return value
}

/** Returns the value of `--window`: a model's context window in tokens. */
export function windowIn(input: Input): number | undefined {
  const isWindow = (_: number, text: string) => /^[1-9]\d{3,7}$/.test(text)
  return numberIn(input, 'window', isWindow, 'a number of tokens from 1000 to 99999999, such as 32768')
}

/** The option `--config` of commands that read several configurations. */
export function configOption(about: string): { readonly config: Option } {
  return { config: { value: 'file', isMultiple: true, about } }
}

/** Returns the files given with `--config`, or with another option; undefined without it. */
export function filesIn(input: Input, option = 'config'): string[] | undefined {
  const files = input.texts(option)
  if (files.includes('')) throw new UsageError(`--${option} is empty; pass a file.`)
  return files.length === 0 ? undefined : [...files]
}

/** Returns the folder given with `--directory`, or the current one. */
export function directoryIn(input: Input): string {
  return input.text('directory') ?? getCurrentFolder()
}

/** Returns the current folder; throws if it no longer exists. */
function getCurrentFolder(): string {
  try {
    return process.cwd()
  } catch {
    throw new CommandError('the current folder no longer exists; change to another one.')
  }
}
