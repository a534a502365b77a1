// What the terminal tests share: commands in a terminal, typed into and read like a person would. Either the real binary
// in a real pseudo-terminal, or a command in this process.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { PassThrough, Writable } from 'node:stream'
import type { ReadStream, WriteStream } from 'node:tty'
import { fileURLToPath } from 'node:url'
import type { IPty } from '@lydell/node-pty'
import xterm from '@xterm/headless'
import chalk from 'chalk'
import { afterAll, beforeAll, beforeEach, onTestFinished } from 'vitest'
import { runCli } from '../../packages/cli/src/main.ts'
import { binary } from '../../packages/testkit/src/binary.ts'
import { enter } from '../../packages/testkit/src/cli-here.ts'

const pty = loadPty()

/** Why no terminal is available here; undefined if one is. */
export const noTerminal: string | undefined =
  pty === undefined ? `no pseudo-terminal for ${process.platform}-${process.arch} is installed` : undefined

if (noTerminal) console.warn(`The terminal tests are skipped: ${noTerminal}.`)

function loadPty(): typeof import('@lydell/node-pty') | undefined {
  try {
    return createRequire(import.meta.url)('@lydell/node-pty')
  } catch {
    return undefined
  }
}

const root = fileURLToPath(new URL('../../', import.meta.url))

export { binary }

export const packages = join(root, 'node_modules')

/** The script of an MCP server that the project installs. */
export const serverScript = (name: string) => join(packages, name)

/** A folder with a home of its own, so that nothing of the person who runs the tests is read or written. */
export type Place = {
  readonly folder: string
  readonly environment: { readonly [name: string]: string }
  /** Writes a file, text or JSON, and answers with its path. */
  file(name: string, content: string | object): string
}

export function newPlace(environment: { readonly [name: string]: string } = {}): Place {
  const folder = mkdtempSync(join(tmpdir(), 'toolshelf-terminal-'))
  mkdirSync(join(folder, 'home'))
  return {
    folder,
    environment: {
      PATH: process.env.PATH ?? '',
      LANG: 'C.UTF-8',
      TERM: 'xterm-256color',
      HOME: join(folder, 'home'),
      XDG_DATA_HOME: join(folder, 'data'),
      XDG_CACHE_HOME: join(folder, 'cache'),
      ...environment,
    },
    file(name, content) {
      const path = join(folder, name)
      writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
      return path
    },
  }
}

export type Screen = {
  readonly type: (keys: string) => void
  /** Types a line as a person does: the words, and then Enter. */
  readonly enter: (line: string) => Promise<void>
  /** Waits until the screen shows it, and answers with the screen. */
  readonly shows: (wanted: string | RegExp, patience?: number) => Promise<string>
  /** Waits until it is nowhere in sight. */
  readonly hides: (unwanted: string | RegExp, patience?: number) => Promise<string>
  /** What is in sight now. */
  readonly text: () => string
  /** Puts all that was shown out of sight but the line to type in: for the next test with the same screen. */
  readonly wipe: () => void
  /** All that was ever shown and not erased. */
  readonly scrolled: () => string
  /** The bytes as they came. */
  readonly raw: () => string
  readonly resize: (columns: number, rows: number) => void
  /** Waits until the command has ended, and answers with its exit code. */
  readonly ended: (patience?: number) => Promise<number>
  /** Ends the command if it has not. */
  readonly close: () => Promise<void> | void
}

export type ProcessScreen = Screen & { readonly process: IPty }

export type Size = {
  readonly columns?: number
  readonly rows?: number
  /** Whether several tests share the screen; it is ended with the file. */
  readonly isShared?: boolean
}

export type HereSize = Size & {
  /** Whether Ink finds a terminal with colours, which it looks for once in a process; none if left out. */
  readonly hasColours?: boolean
  /** In place of the whole command line. */
  readonly run?: typeof runCli
}

export type ProcessSize = Size & {
  /** A file of the place that takes stderr; the terminal if left out. */
  readonly stderr?: string
  /** Arguments of Node that start another binary. */
  readonly binary?: readonly string[]
}

/** On a machine that is very busy the first chat takes minutes to load; the suite's own limit is 300,000. */
const PATIENCE = 250_000
/** What an ended screen may take: another test must not wait for longer, or find the process taken. */
const CLOSING = 30_000

/** Ends what runs in this process, whoever started it. */
let closeHere: () => Promise<void> | void = () => {}

/** One screen for all tests of a group, in their order: starting it takes longer than most of them. */
export function shareScreen<Opened extends Screen>(start: () => Promise<Opened>): () => Opened {
  let screen: Opened
  beforeAll(async () => {
    screen = await start()
  })
  // The start may have failed half-way.
  afterAll(() => screen?.close() ?? closeHere())
  beforeEach(async () => {
    await screen.hides('Ctrl-C stops')
    screen.wipe()
  })
  return () => screen
}

/** Starts the binary with words in a terminal. It is ended with the test, or with the file if tests share it. */
export function open(place: Place, words: readonly string[], size: ProcessSize = {}): ProcessScreen {
  const { columns = 80, rows = 30, binary: started = binary } = size
  if (!pty) throw new Error(noTerminal)
  const redirected = ['/bin/sh', '-c', `exec "$0" "$@" 2>${size.stderr}`]
  const [program = '', ...given] = [
    ...(size.stderr ? redirected : []),
    process.execPath,
    ...started,
    ...words,
  ]
  const child = pty.spawn(program, given, {
    name: 'xterm-256color',
    cols: columns,
    rows,
    cwd: place.folder,
    env: { ...place.environment },
  })
  const { screen, show, end, isEnded } = createScreen({
    ...{ columns, rows },
    type: (keys) => child.write(keys),
    resize: (next, height) => child.resize(next, height),
    close: () => child.kill('SIGKILL'),
  })
  child.onData(show)
  child.onExit(({ exitCode }) => end(exitCode))
  if (!size.isShared)
    onTestFinished(() => {
      if (!isEnded()) child.kill('SIGKILL')
    })
  return { ...screen, process: child }
}

/**
 * Runs a command in this process, in a terminal that is drawn like a real one: to start a process takes a CPU second. It
 * is ended with the test, or with the file if tests share it; one can run at a time.
 */
export function openHere(place: Place, words: readonly string[], size: HereSize = {}): Screen {
  const { columns = 80, rows = 30, isShared, hasColours = false, run = runCli } = size
  const leavePlace = enter(place.folder, place.environment)
  const before = chalk.level
  if (hasColours) chalk.level = 1
  const leave = () => {
    chalk.level = before
    leavePlace()
  }
  const input = Object.assign(new PassThrough(), { isTTY: true }) as unknown as ReadStream
  for (const name of ['setRawMode', 'ref', 'unref'] as const) input[name] = () => input
  const drawn = new Writable({
    decodeStrings: false,
    write(chunk, _, done) {
      show(String(chunk))
      done()
    },
  })
  const output = Object.assign(drawn, { isTTY: true, columns, rows }) as unknown as WriteStream
  const { screen, show, end, isEnded } = createScreen({
    ...{ columns, rows },
    type: (keys) => void (input as unknown as PassThrough).write(keys),
    resize(next, height) {
      Object.assign(output, { columns: next, rows: height })
      output.emit('resize')
    },
    // The first stops a turn, the others end the chat.
    async close() {
      for (const end = Date.now() + CLOSING; !isEnded() && Date.now() < end; await rest(20))
        screen.type(keys.ctrlC)
      leave()
    },
  })
  closeHere = screen.close
  const say = (text: string) => void output.write(`${text}\n`)
  const ask = async (question: string) => {
    const lines = createInterface({ input, output })
    try {
      return await lines.question(question)
    } finally {
      lines.close()
    }
  }
  void run(words, { print: say, report: say, isInteractive: true, ask, screen: { input, output } }).then(
    (code) => {
      leave()
      end(code)
    },
  )
  if (!isShared) onTestFinished(() => screen.close())
  return screen
}

type Driven = {
  readonly columns: number
  readonly rows: number
  readonly type: (keys: string) => void
  readonly resize: (columns: number, rows: number) => void
  readonly close: () => Promise<void> | void
}

/** `show` takes what the command prints, `end` its exit code. */
function createScreen({ columns, rows, type, resize, close }: Driven) {
  const options = { cols: columns, rows, scrollback: 5000, allowProposedApi: true, convertEol: true }
  const terminal = new xterm.Terminal(options)
  let raw = ''
  let code: number | undefined
  const rowsFrom = (first: number): string => {
    const buffer = terminal.buffer.active
    const lines: string[] = []
    for (let row = first; row < buffer.length; row++)
      lines.push(buffer.getLine(row)?.translateToString(true) ?? '')
    return lines.join('\n').trimEnd()
  }
  /** Keeps its row while rows above it are dropped. */
  let first: ReturnType<typeof terminal.registerMarker> | undefined
  const text = () => rowsFrom(Math.max(first?.line ?? 0, terminal.buffer.active.baseY))
  /** Waits until all that was printed so far is on the screen. */
  const drawn = () => new Promise<void>((resolve) => terminal.write('', resolve))
  /** Resolves when something more was printed, or the command has ended. */
  let change = nextChange()
  const changed = () => {
    change.happen()
    change = nextChange()
  }
  const until = async (isSo: () => boolean, what: string, patience: number): Promise<string> => {
    const limit = nextChange()
    const timer = setTimeout(limit.happen, patience)
    try {
      for (const end = Date.now() + patience; Date.now() < end; ) {
        const { happened } = change
        await drawn()
        if (isSo()) return text()
        await Promise.race([happened, limit.happened])
      }
    } finally {
      clearTimeout(timer)
    }
    throw new Error(`${what} within ${patience} ms. The screen:\n${text()}`)
  }
  const isIn = (wanted: string | RegExp) =>
    typeof wanted === 'string' ? text().includes(wanted) : wanted.test(text())
  const screen: Screen = {
    type,
    async enter(line) {
      // During a turn only commands are taken.
      if (!line.startsWith('/')) await screen.hides('Ctrl-C stops')
      type(line)
      await until(() => squeezed(text()).includes(squeezed(line)), `"${line}" was not typed`, PATIENCE)
      type('\r')
    },
    shows: (wanted, patience = PATIENCE) =>
      until(() => isIn(wanted), `The screen did not show ${String(wanted)}`, patience),
    hides: (unwanted, patience = PATIENCE) =>
      until(() => !isIn(unwanted), `The screen went on showing ${String(unwanted)}`, patience),
    text,
    wipe() {
      const rows = rowsFrom(0).split('\n')
      const { baseY, cursorY } = terminal.buffer.active
      first = terminal.registerMarker(rows.findLastIndex((row) => row.startsWith('>')) - baseY - cursorY)
    },
    scrolled: () => rowsFrom(0),
    raw: () => raw,
    resize(next, height) {
      terminal.resize(next, height)
      resize(next, height)
    },
    async ended(patience = PATIENCE) {
      await until(() => code !== undefined, 'The command did not end', patience)
      return code as number
    },
    close,
  }
  const show = (data: string) => {
    raw += data
    terminal.write(data)
    changed()
  }
  /** What was printed before is drawn first. */
  const end = (exitCode: number) =>
    void drawn().then(() => {
      code = exitCode
      changed()
    })
  return { screen, show, end, isEnded: () => code !== undefined }
}

function nextChange(): { readonly happened: Promise<void>; readonly happen: () => void } {
  let happen = () => {}
  const happened = new Promise<void>((resolve) => {
    happen = resolve
  })
  return { happened, happen }
}

export const keys = {
  ctrlC: '\u0003',
  ctrlD: '\u0004',
  /** Empties the line. */
  ctrlU: '\u0015',
  up: '\u001b[A',
  down: '\u001b[B',
  left: '\u001b[D',
  backspace: '\u007f',
  paste: (text: string) => `\u001b[200~${text.replaceAll('\n', '\r')}\u001b[201~`,
}

export const rest = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Where a line was wrapped does not matter. */
const squeezed = (text: string) => text.replaceAll(/\s/g, '')
