#!/usr/bin/env node
// Entry point of the CLI: parses arguments, runs a command and sets the exit code. The only file that reads and exits
// the process.
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { printable } from '../terminal/index.ts'
import {
  type Command,
  CommandError,
  didYouMean,
  type ExitCode,
  helpFor,
  readInput,
  type Terminal,
  UsageError,
  usageOf,
} from './command.ts'
import { version } from './version.ts'

type Entry = {
  readonly name: string
  /** Empty if another line of the overview covers it. */
  readonly summary: string
  readonly load: () => Promise<Command>
}

/** Loaded on demand: a gateway must not wait for code that only an evaluation needs. */
const commands: readonly Entry[] = [
  {
    name: 'demo',
    summary: 'what is saved, on real servers, without a key',
    load: async () => (await import('./demo.ts')).demoCommand,
  },
  {
    name: 'chat',
    summary: 'an agent with your MCP servers; sessions lists past ones',
    load: async () => (await import('./chat.ts')).chatCommand,
  },
  {
    name: 'run',
    summary: 'one prompt to that agent, for scripts and pipes',
    load: async () => (await import('./run.ts')).runCommand,
  },
  {
    name: 'sessions',
    summary: '',
    load: async () => (await import('./sessions.ts')).sessionsCommand,
  },
  {
    name: 'mcp',
    summary: 'the gateway: all your MCP servers behind one',
    load: async () => (await import('./mcp.ts')).mcpCommand,
  },
  {
    name: 'serve',
    summary: 'tool search in front of any model, in all three APIs',
    load: async () => (await import('./serve.ts')).serveCommand,
  },
  {
    name: 'keys',
    summary: 'keys of a gateway’s users; see users and credentials, too',
    load: async () => (await import('./keys.ts')).keysCommand,
  },
  {
    name: 'users',
    summary: '',
    load: async () => (await import('./users.ts')).usersCommand,
  },
  {
    name: 'credentials',
    summary: '',
    load: async () => (await import('./credentials.ts')).credentialsCommand,
  },
  {
    name: 'wrap',
    summary: 'runs an agent with tool search in front of its model',
    load: async () => (await import('./wrap.ts')).wrapCommand,
  },
  {
    name: 'doctor',
    summary: 'server costs; replay: of a past session; inspect: see it',
    load: async () => (await import('./doctor.ts')).doctorCommand,
  },
  {
    name: 'inspect',
    summary: '',
    load: async () => (await import('./inspect.ts')).inspectCommand,
  },
  {
    name: 'replay',
    summary: '',
    load: async () => (await import('./replay.ts')).replayCommand,
  },
  {
    name: 'import',
    summary: 'sets up your clients: their MCP servers behind one',
    load: async () => (await import('./import.ts')).importServers,
  },
  {
    name: 'add',
    summary: 'adds an MCP server; list shows them, remove ends one',
    load: async () => (await import('./add.ts')).add,
  },
  {
    name: 'list',
    summary: '',
    load: async () => (await import('./list.ts')).list,
  },
  {
    name: 'remove',
    summary: '',
    load: async () => (await import('./remove.ts')).remove,
  },
  {
    name: 'login',
    summary: 'logs in to a remote MCP server; logout forgets it',
    load: async () => (await import('./login.ts')).loginCommand,
  },
  {
    name: 'logout',
    summary: '',
    load: async () => (await import('./login.ts')).logoutCommand,
  },
  {
    name: 'trust',
    summary: 'which folders’ servers and skills are used',
    load: async () => (await import('./trust.ts')).trustCommand,
  },
  {
    name: 'permissions',
    summary: 'what the agent may run without asking',
    load: async () => (await import('./permissions.ts')).permissionsCommand,
  },
  {
    name: 'pins',
    summary: 'tool definitions that changed since first seen',
    load: async () => (await import('./pins.ts')).pinsCommand,
  },
  {
    name: 'learned',
    summary: '',
    load: async () => (await import('./learned.ts')).learnedCommand,
  },
  {
    name: 'search',
    summary: 'which tools a query finds; eval measures, learned teaches it',
    load: async () => (await import('./search.ts')).searchCommand,
  },
  {
    name: 'eval',
    summary: '',
    load: async () => (await import('./eval.ts')).evalCommand,
  },
  {
    name: 'config',
    summary: 'checks your configuration; completion is for your shell',
    load: async () => (await import('./config.ts')).configCommand,
  },
  {
    name: 'completion',
    summary: '',
    load: async () => (await import('./completion.ts')).completionOf(everyCommand),
  },
]

/** All commands, loaded: for the shell's completion and the reference. */
export function everyCommand(): Promise<Command[]> {
  return Promise.all(commands.map(({ load }) => load()))
}

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
  const command = commands.find((one) => one.name === name)
  if (!command) {
    const names = commands.map((one) => one.name)
    const near = didYouMean(name, names) || '.'
    terminal.tell(printable(`toolshelf: unknown command "${name}"${near} Commands: ${names.join(', ')}.`))
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
    return await command.run(input, terminal)
  } catch (error) {
    if (error instanceof UsageError) {
      const more = `${usageOf(command)}\nMore: toolshelf ${command.name} --help`
      terminal.tell(printable(`toolshelf ${command.name}: ${error.message}\n${more}`))
      return 2
    }
    const isKnown = error instanceof CommandError
    terminal.tell(
      printable(
        `toolshelf ${command.name}: ${isKnown ? error.message : ((error as Error).stack ?? String(error))}`,
      ),
    )
    return 1
  }
}

function overview(): string {
  return [
    'Toolshelf keeps an agent’s tools on the shelf until the model reaches for them.',
    'Usage: toolshelf <command> [options]\n',
    ...commands
      .filter(({ summary }) => summary !== '')
      .map(({ name, summary }) => `  ${name.padEnd(12)} ${summary}`),
    '\nMore: toolshelf <command> --help. Exit codes: 0 done, 1 failed,\n2 wrong usage, 3 the model stopped early, 130 interrupted.',
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
    tell: (text) => void process.stderr.write(`${text}\n`),
    isInteractive: process.stderr.isTTY === true && process.stdout.isTTY === true,
    ...(process.stdin.isTTY === true && process.stderr.isTTY === true ? { ask: askPerson } : {}),
  }
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', ({ code }: NodeJS.ErrnoException) => process.exit(isClosedPipe(code) ? 0 : 1))
  process.exitCode = await runCli(process.argv.slice(2), terminal)
}
