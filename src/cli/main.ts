#!/usr/bin/env node
// The command line: words → command → exit code. The only place that reads the process and ends it.
import { readFileSync, realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import {
  type Command,
  CommandError,
  type ExitCode,
  helpFor,
  readInput,
  type Terminal,
  UsageError,
} from './command.ts'
import { evaluation } from './eval.ts'
import { search } from './search.ts'

const commands: readonly Command[] = [search, evaluation]

export async function run(words: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const [name, ...rest] = words
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    terminal.print(overview())
    return name === undefined ? 2 : 0
  }
  if (name === '--version' || name === '-v') {
    terminal.print(version())
    return 0
  }
  const command = commands.find((one) => one.name === name)
  if (!command) {
    terminal.tell(`toolshelf: there is no command "${name}". ${known()}`)
    return 2
  }
  return runCommand(command, rest, terminal)
}

async function runCommand(command: Command, words: readonly string[], terminal: Terminal): Promise<ExitCode> {
  try {
    const input = readInput(command, words)
    if (input.isSet('help')) {
      terminal.print(helpFor(command))
      return 0
    }
    return await command.run(input, terminal)
  } catch (error) {
    if (error instanceof UsageError) {
      terminal.tell(
        `toolshelf ${command.name}: ${error.message}\nUsage: toolshelf ${command.name} ${command.words}\nMore: toolshelf ${command.name} --help`,
      )
      return 2
    }
    const isKnown = error instanceof CommandError
    terminal.tell(
      `toolshelf ${command.name}: ${isKnown ? error.message : ((error as Error).stack ?? String(error))}`,
    )
    return 1
  }
}

function overview(): string {
  return [
    'Toolshelf keeps an agent’s tools on the shelf until the model reaches for them.\n',
    'Usage: toolshelf <command> [options]\n',
    ...commands.map(({ name, summary }) => `  ${name.padEnd(10)} ${summary}`),
    '\nEach command explains itself with --help. Exit codes: 0 done, 1 failed, 2 the call was wrong.',
  ].join('\n')
}

function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

function known(): string {
  return `Commands: ${commands.map(({ name }) => name).join(', ')}.`
}

function isEntry(): boolean {
  const started = process.argv[1]
  return started !== undefined && realpathSync(started) === fileURLToPath(import.meta.url)
}

if (isEntry()) {
  const terminal: Terminal = {
    print: (text) => void process.stdout.write(`${text}\n`),
    tell: (text) => void process.stderr.write(`${text}\n`),
    isInteractive: process.stderr.isTTY === true,
  }
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => process.exit(0))
  process.exitCode = await run(process.argv.slice(2), terminal)
}
