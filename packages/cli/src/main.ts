#!/usr/bin/env node
// Entry point of the CLI: parses arguments, runs a command and sets the exit code. The only file that reads and exits
// the process.
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { proxyProblems } from '@toolshelf/core/internal/node'
import {
  type Command,
  CommandError,
  didYouMean,
  EXIT_CODES,
  type ExitCode,
  foldedLine,
  helpFor,
  readInput,
  type Terminal,
  UsageError,
  usageOf,
} from './command.ts'
import { printable } from './terminal/pen.ts'
import { version } from './version.ts'

type Entry = {
  readonly name: string
  /** What it does, in the overview. */
  readonly does: string
  readonly load: () => Promise<Command>
}

/** Commands by group, as the overview shows them. Each is loaded on demand, so that a gateway does not wait for the code of others. */
const groups: { readonly [title: string]: readonly Entry[] } = {
  'Try it': [
    {
      name: 'demo',
      does: 'show what is saved, on real MCP servers, without a key',
      load: async () => (await import('./demo.ts')).demoCommand,
    },
    {
      name: 'chat',
      does: 'talk to an agent that has your MCP servers',
      load: async () => (await import('./chat.ts')).chatCommand,
    },
    {
      name: 'run',
      does: 'send that agent one prompt, for scripts and pipes',
      load: async () => (await import('./run.ts')).runCommand,
    },
  ],
  Gateways: [
    {
      name: 'mcp',
      does: 'put all your MCP servers behind one',
      load: async () => (await import('./mcp.ts')).mcpCommand,
    },
    {
      name: 'serve',
      does: 'put tool search in front of any model, in three APIs',
      load: async () => (await import('./serve.ts')).serveCommand,
    },
  ],
  'Your servers': [
    {
      name: 'connect',
      does: 'copy your clients’ servers, or move them with --apply',
      load: async () => (await import('./connect.ts')).connect,
    },
    { name: 'add', does: 'add a server', load: async () => (await import('./add.ts')).add },
    {
      name: 'list',
      does: 'list servers with their state and cost',
      load: async () => (await import('./list.ts')).list,
    },
    { name: 'remove', does: 'remove a server', load: async () => (await import('./remove.ts')).remove },
    {
      name: 'login',
      does: 'log in to a remote server, or forget the login',
      load: async () => (await import('./login.ts')).loginCommand,
    },
  ],
  'See what happens': [
    {
      name: 'doctor',
      does: 'show what the tools of your servers cost',
      load: async () => (await import('./doctor.ts')).doctorCommand,
    },
    {
      name: 'inspect',
      does: 'show recorded events in a browser',
      load: async () => (await import('./inspect.ts')).inspectCommand,
    },
  ],
  Search: [
    {
      name: 'search',
      does: 'show which tools a query finds, and why; measure rankers',
      load: async () => (await import('./search.ts')).searchCommand,
    },
  ],
  Safety: [
    {
      name: 'trust',
      does: 'decide which folders, definitions and calls are trusted',
      load: async () => (await import('./trust.ts')).trustCommand,
    },
  ],
  'Users of a gateway': [
    {
      name: 'users',
      does: 'manage users, their keys and credentials',
      load: async () => (await import('./users.ts')).usersCommand,
    },
  ],
}

const commands = Object.values(groups).flat()

/** Loads all commands, for the reference. */
export function everyCommand(): Promise<Command[]> {
  return Promise.all(commands.map(({ load }) => load()))
}

/** Runs a command line; returns the exit code. */
export async function runCli(words: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const [name, ...rest] = words
  if (name === 'help' && rest[0] !== undefined) return runCli([rest[0], '--help'], terminal)
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    terminal.print(overview())
    return name === undefined ? 2 : 0
  }
  if (name === '--version' || name === '-v') {
    terminal.print(version())
    return 0
  }
  if (name.startsWith('-')) {
    const near = didYouMean(name.replace(/^-+/, ''), ['help', 'version'], '--') || '.'
    terminal.report(printable(`toolshelf: unknown option "${name}"${near} More: toolshelf --help`))
    return 2
  }
  const command = commands.find((one) => one.name === name)
  if (!command) {
    const names = commands.map((one) => one.name)
    const near = didYouMean(name, names) || '.'
    terminal.report(printable(`toolshelf: unknown command "${name}"${near} Commands: ${names.join(', ')}.`))
    return 2
  }
  return runCommand(await command.load(), rest, terminal)
}

async function runCommand(command: Command, words: readonly string[], terminal: Terminal): Promise<ExitCode> {
  try {
    const input = readInput(command, words)
    if (input.isSet('help')) {
      terminal.print(helpFor(command))
      return 0
    }
    for (const problem of proxyProblems()) terminal.report(`toolshelf ${command.name}: ${problem}`)
    return await command.run(input, terminal)
  } catch (error) {
    if (error instanceof UsageError) {
      const more = `${usageOf(command)}\nMore: toolshelf ${command.name} --help`
      terminal.report(printable(`toolshelf ${command.name}: ${error.message}\n${more}`))
      return 2
    }
    const isKnown = error instanceof CommandError
    terminal.report(
      printable(
        `toolshelf ${command.name}: ${isKnown ? error.message : ((error as Error).stack ?? String(error))}`,
      ),
    )
    return 1
  }
}

function overview(): string {
  const sections = Object.entries(groups).flatMap(([title, entries]) => [
    `\n${title}`,
    ...entries.map(({ name, does }) => `  ${name.padEnd(12)} ${does}`),
  ])
  return [
    'Toolshelf keeps an agent’s tools on the shelf until the model reaches for them.',
    'Usage: toolshelf <command> [options]',
    ...sections,
    '\nMore: toolshelf <command> --help',
    foldedLine(`Exit codes: ${EXIT_CODES}.`, 80),
  ].join('\n')
}

function isEntry(): boolean {
  const started = process.argv[1]
  return started !== undefined && realpathSync(started) === fileURLToPath(import.meta.url)
}

/** Returns an empty string at the end of the input; Ctrl-C exits the process. */
async function askPerson(question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises')
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return await new Promise((resolve) => {
      lines.once('close', () => resolve(''))
      lines.once('SIGINT', () => {
        process.stderr.write('\n')
        process.exit(130)
      })
      void lines.question(question).then(resolve, () => resolve(''))
    })
  } finally {
    lines.close()
  }
}

/** A closed pipe means that the reader has seen enough; a full disk is an error. */
function isClosedPipe(code: string | undefined): boolean {
  return code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED'
}

if (isEntry()) {
  const terminal: Terminal = {
    print: (text) => void process.stdout.write(`${text}\n`),
    report: (text) => void process.stderr.write(`${text}\n`),
    isInteractive: process.stderr.isTTY === true && process.stdout.isTTY === true,
    ...(process.stdin.isTTY === true && process.stderr.isTTY === true ? { ask: askPerson } : {}),
  }
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(isClosedPipe(code) ? 0 : 1))
  process.exitCode = await runCli(process.argv.slice(2), terminal)
}
