// What the terminal tests share: the real binary in a real pseudo-terminal, typed into and read like a person would.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { IPty } from '@lydell/node-pty'
import xterm from '@xterm/headless'
import { afterAll, beforeAll, beforeEach, onTestFinished } from 'vitest'
import { binary } from '../support/binary.ts'

const pty = loadPty()

/** Why no terminal can be had here; undefined where one can. */
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
  readonly process: IPty
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
  /** Waits until the process has ended, and answers with its exit code. */
  readonly ended: (patience?: number) => Promise<number>
}

export type Size = {
  readonly columns?: number
  readonly rows?: number
  /** A file of the place that takes stderr; the terminal if left out. */
  readonly stderr?: string
  /** Arguments of Node that start another binary. */
  readonly binary?: readonly string[]
  /** Whether several tests share the screen; it is ended with the file. */
  readonly isShared?: boolean
}

const PATIENCE = 90_000

/** One screen for all tests of a group, in their order: starting it takes longer than most of them. */
export function shareScreen<Opened extends Screen>(start: () => Promise<Opened>): () => Opened {
  let screen: Opened
  beforeAll(async () => {
    screen = await start()
  })
  afterAll(() => screen?.process.kill('SIGKILL'))
  beforeEach(async () => {
    await screen.hides('Ctrl-C stops')
    screen.wipe()
  })
  return () => screen
}

/** Starts the binary with words in a terminal. It is ended with the test, or with the file if tests share it. */
export function open(place: Place, words: readonly string[], size: Size = {}): Screen {
  const { columns = 80, rows = 30, binary: started = binary } = size
  if (!pty) throw new Error(noTerminal)
  const terminal = new xterm.Terminal({ cols: columns, rows, scrollback: 5000, allowProposedApi: true })
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
  let raw = ''
  let code: number | undefined
  child.onData((data) => {
    raw += data
    terminal.write(data)
  })
  child.onExit(({ exitCode }) => {
    code = exitCode
  })
  if (!size.isShared)
    onTestFinished(() => {
      if (code === undefined) child.kill('SIGKILL')
    })

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
  const until = async (isSo: () => boolean, what: string, patience: number): Promise<string> => {
    for (const end = Date.now() + patience; Date.now() < end; await rest(25)) {
      if (isSo()) return text()
    }
    throw new Error(`${what} within ${patience} ms. The screen:\n${text()}`)
  }
  const isIn = (wanted: string | RegExp) =>
    typeof wanted === 'string' ? text().includes(wanted) : wanted.test(text())
  const screen: Screen = {
    process: child,
    type: (keys) => child.write(keys),
    async enter(line) {
      // During a turn only commands are taken.
      if (!line.startsWith('/')) await screen.hides('Ctrl-C stops')
      child.write(line)
      await until(() => squeezed(text()).includes(squeezed(line)), `"${line}" was not typed`, PATIENCE)
      child.write('\r')
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
      child.resize(next, height)
    },
    async ended(patience = PATIENCE) {
      await until(() => code !== undefined, 'The process did not end', patience)
      return code as number
    },
  }
  return screen
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
