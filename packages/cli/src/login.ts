// `toolshelf login`: logs in to a remote server, and forgets the login.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { type StateStore, slugOf, toJson } from '@toolshelf/core/internal'
import { readConfig, type ServerConfig, userConfigFiles } from '@toolshelf/mcp'
import { type LocalMachine, thisMachine } from '@toolshelf/mcp/internal'
import { defaultTokenFolder, type LoginOptions, login, logout } from '@toolshelf/mcp/internal/oauth'
import {
  type Command,
  CommandError,
  type Input,
  numberIn,
  type Option,
  type Terminal,
  UsageError,
  withFlags,
} from './command.ts'
import { openUsers, storeIn, storeOption, uidOf, userFileOption } from './options.ts'
import { printable } from './terminal/pen.ts'
import { openProject, trustOption } from './trust/open.ts'
import type { Project } from './trust/project.ts'
import { version } from './version.ts'

/** What the commands need of their process; tests replace it. */
type LoginSurroundings = {
  readonly machine: () => LocalMachine
  /** Opens the browser; resolves to false if there is none. */
  readonly openBrowser: (url: string) => Promise<boolean>
}

export function createLogin({ machine, openBrowser }: LoginSurroundings): Command {
  return {
    name: 'login',
    summary: 'Logs in to a remote server in the browser, or forgets the login.',
    words: '<server> [--forget] [--config <file>]',
    options: {
      forget: { about: 'forget the login, and revoke it where the server can' },
      config: { value: 'file', about: 'configuration of any client (default: toolshelf.json and .mcp.json)' },
      'trust-project': trustOption,
      'no-browser': { about: 'print the address instead of opening it' },
      port: { value: 'number', about: 'port of the redirect URL (default: any free one)' },
      'client-id': {
        value: 'id',
        about: 'id of a client registered by hand; its secret, if any, in TOOLSHELF_CLIENT_SECRET',
      },
      scope: { value: 'words', about: 'scopes to request in addition to what the server demands' },
      user: userOption,
      ...userFileOption,
      ...storeOption,
      json: { about: 'print {"server", "isLoggedIn", "tools"}, or {"server", "wasLoggedIn"}' },
    },
    examples: [
      'toolshelf login linear',
      'toolshelf login --forget linear',
      'toolshelf login linear --no-browser --port 8976',
      'TOOLSHELF_STORE=redis://127.0.0.1 toolshelf login linear --user ada',
    ],
    async run(input, terminal) {
      const name = readServer(input)
      const place = machine()
      if (input.isSet('forget')) return forget(name, input, terminal, place)
      const notify = (message: string) => terminal.report(printable(message))
      const chosen = readOptions(input, place.environment)
      const options: LoginOptions = {
        config: await findServer(name, input.text('config'), place, (machine) =>
          openProject(machine, {
            isForAgent: false,
            isTrusting: input.isSet('trust-project'),
            terminal,
            notify,
          }),
        ),
        folder: defaultTokenFolder(place.environment),
        clientInfo: { name: 'toolshelf', version: version() },
        print: notify,
        notify,
        openBrowser: input.isSet('no-browser') ? undefined : openBrowser,
        ...chosen,
      }
      const store = await storeIn(input, place.environment)
      const file = await fileOfUser(input, options.config, store, place.environment)
      const { tools, isLoggedIn } = await login({ ...options, store, file })
        .catch((error: unknown) => {
          const { message } = withFlags(error, {
            port: 'choose another with --port',
            client: 'use --client-id and --port',
          })
          throw new CommandError(`${name}: ${message}`)
        })
        .finally(() => store?.close())
      if (input.isSet('json')) {
        terminal.print(toJson({ server: name, isLoggedIn, tools }))
        return 0
      }
      const counted = `${tools} ${tools === 1 ? 'tool' : 'tools'}`
      terminal.print(isLoggedIn ? `Logged in to ${name}: ${counted}.` : `${name} needs no login: ${counted}.`)
      return 0
    },
  }
}

const userOption: Option = {
  value: 'id',
  about: 'keep the login for a user of a gateway, encrypted in the store; see "toolshelf users credentials"',
}

/** Where the login of a user is kept; undefined for the login of the user who runs the command. */
async function fileOfUser(
  input: Input,
  { name: server, transport }: ServerConfig,
  store: StateStore | undefined,
  environment: LocalMachine['environment'],
): Promise<LoginOptions['file']> {
  const user = input.text('user')
  if (user === undefined || transport.kind === 'stdio') return undefined
  if (!store)
    throw new CommandError('logins of users are kept in a store; pass --store, or set TOOLSHELF_STORE.')
  const { credentialsIn } = await import('./servers/personal-servers.ts')
  const { loginFile } = await import('@toolshelf/mcp/internal/personal')
  try {
    const directory = await openUsers(input, store)
    const uid = await uidOf(directory, user).finally(() => directory.close())
    return loginFile(credentialsIn(store, environment), uid, { server, url: transport.url })
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Forgets the login of a server, and revokes it where the server can. */
async function forget(name: string, input: Input, terminal: Terminal, { environment }: LocalMachine) {
  const server = slugOf(name)
  const folder = defaultTokenFolder(environment)
  const store = await storeIn(input, environment)
  const options = { folder, store, server, notify: terminal.report }
  const wasLoggedIn = (await logout(options).finally(() => store?.close())) > 0
  if (input.isSet('json')) terminal.print(toJson({ server, wasLoggedIn }))
  else terminal.print(wasLoggedIn ? `Logged out of ${server}.` : `No login of ${server} is stored.`)
  return 0
}

export const loginCommand: Command = createLogin({ machine: thisMachine, openBrowser: startBrowser })

function readServer({ words }: Input): string {
  const server = words.join(' ').trim()
  if (server === '') throw new UsageError('name a server, such as "toolshelf login linear".')
  return server
}

function readOptions(input: Input, { TOOLSHELF_CLIENT_SECRET: secret }: LocalMachine['environment']) {
  const id = input.text('client-id')
  return {
    port: numberIn(input, 'port', isPort, 'a number from 1 to 65535'),
    client: id ? { id, secret: secret || undefined } : undefined,
    scope: input.text('scope'),
  }
}

const isPort = (value: number) => Number.isInteger(value) && value >= 1 && value <= 65535

async function findServer(
  name: string,
  file: string | undefined,
  machine: LocalMachine,
  open: (machine: LocalMachine) => Promise<Project>,
): Promise<ServerConfig> {
  const own = file ? [file] : userConfigFiles(machine).filter(existsSync)
  const read = await readConfig(own, machine.environment, machine)
  const isMeant = (server: ServerConfig) => server.name === name || server.original === name
  const mine = read.servers.find(isMeant)
  if (mine) return mine
  const project = file ? [] : (await open(machine)).configs
  const { servers, problems } = await readConfig([...own, ...project], machine.environment, machine)
  const found = servers.find(isMeant)
  if (found) return found
  const reasons = problems.filter(({ server }) => server === name)
  if (reasons.length > 0)
    throw new CommandError(reasons.map((one) => `${one.file}, server "${name}": ${one.message}`).join('\n'))
  const known = servers.filter(({ transport }) => transport.kind !== 'stdio').map((server) => server.name)
  throw new CommandError(
    [
      `no server "${name}" is configured. Remote servers: ${known.length > 0 ? known.join(', ') : 'none'}.`,
      ...problems.map((problem) => `${problem.file}: ${problem.message}`),
    ].join('\n'),
  )
}

/**
 * Returns the command that opens a URL. Uses no shell, and on Windows not `start`, which is a shell command: a URL may
 * contain shell syntax.
 */
export function browserCommand(url: string, platform: NodeJS.Platform): readonly [string, readonly string[]] {
  if (platform === 'darwin') return ['open', [url]]
  if (platform === 'win32') return ['rundll32', ['url.dll,FileProtocolHandler', url]]
  return ['xdg-open', [url]]
}

/** Opens a URL in the browser; resolves to false if there is no such program. */
export function startBrowser(url: string): Promise<boolean> {
  const [command, words] = browserCommand(url, process.platform)
  return new Promise((resolve) => {
    const browser = spawn(command, words, { stdio: 'ignore', detached: true })
    browser.on('error', () => resolve(false))
    browser.on('spawn', () => resolve(true))
    browser.unref()
  })
}
