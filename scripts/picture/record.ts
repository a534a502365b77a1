// Records a command in a real shell and a real pseudo-terminal, as the frames that a person sees.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { spawn } from '@lydell/node-pty'
import xterm from '@xterm/headless'

/** Cells of one row that look the same. */
export type Run = {
  readonly column: number
  readonly text: string
  readonly colour: number | undefined
  readonly isBold: boolean
  readonly isDim: boolean
}

/** A screen, and since when it is shown. */
export type Frame = { readonly milliseconds: number; readonly rows: readonly (readonly Run[])[] }

/** The size of a terminal in characters. */
export type Size = { readonly columns: number; readonly rows: number }

const PROMPT = '$ '
const TYPING_MS = 70
const TIMEOUT_MS = 300_000
const root = fileURLToPath(new URL('../../', import.meta.url))

/** Types a toolshelf command into a shell and records the screen until the prompt is back. */
export async function record(command: string, size: Size): Promise<Frame[]> {
  const place = mkdtempSync(join(tmpdir(), 'toolshelf-picture-'))
  const terminal = new xterm.Terminal({ cols: size.columns, rows: size.rows, allowProposedApi: true })
  const shell = spawn('/bin/sh', ['-i'], {
    name: 'xterm-256color',
    cols: size.columns,
    rows: size.rows,
    cwd: place,
    env: {
      HOME: place,
      PATH: [commandFolder(place), process.env.PATH ?? ''].join(delimiter),
      PS1: PROMPT,
      TERM: 'xterm-256color',
      LANG: 'C.UTF-8',
    },
  })
  const start = Date.now()
  const frames: Frame[] = []
  shell.onData((data) =>
    terminal.write(data, () => frames.push({ milliseconds: Date.now() - start, rows: rowsOf(terminal) })),
  )
  try {
    await until(() => lastLine(terminal) === PROMPT.trim(), 'the shell shows no prompt')
    for (const key of `${command}\r`) {
      shell.write(key)
      await sleep(TYPING_MS)
    }
    await until(
      () => frames.length > command.length + 2 && lastLine(terminal) === PROMPT.trim(),
      'it did not end',
    )
    return frames
  } finally {
    shell.kill('SIGKILL')
    rmSync(place, { recursive: true, force: true })
  }
}

/** A folder with the `toolshelf` of this clone. */
function commandFolder(place: string): string {
  const folder = join(place, 'bin')
  const file = join(folder, 'toolshelf')
  mkdirSync(folder)
  const words = [
    process.execPath,
    '--import',
    join(root, 'node_modules/tsx/dist/loader.mjs'),
    join(root, 'src/cli/main.ts'),
  ]
  writeFileSync(file, `#!/bin/sh\nexec ${words.map((word) => `'${word}'`).join(' ')} "$@"\n`)
  chmodSync(file, 0o755)
  return folder
}

async function until(isSo: () => boolean, complaint: string): Promise<void> {
  for (const end = Date.now() + TIMEOUT_MS; !isSo(); await sleep(20))
    if (Date.now() > end) throw new Error(`${complaint} within ${TIMEOUT_MS / 1000} s`)
}

type Terminal = InstanceType<typeof xterm.Terminal>

function lastLine({ buffer: { active } }: Terminal): string {
  return (
    active
      .getLine(active.baseY + active.cursorY)
      ?.translateToString(true)
      .trim() ?? ''
  )
}

function rowsOf({ buffer: { active }, rows, cols }: Terminal): Run[][] {
  return Array.from({ length: rows }, (_, row) => {
    const line = active.getLine(active.baseY + row)
    const runs: Run[] = []
    for (let column = 0; line && column < cols; column++) {
      const cell = line.getCell(column)
      const text = cell?.getChars() || ' '
      const colour = cell?.isFgPalette() ? cell.getFgColor() : undefined
      const look = { colour, isBold: cell?.isBold() !== 0, isDim: cell?.isDim() !== 0 }
      const last = runs.at(-1)
      if (last && last.colour === colour && last.isBold === look.isBold && last.isDim === look.isDim)
        runs[runs.length - 1] = { ...last, text: last.text + text }
      else runs.push({ column, text, ...look })
    }
    return runs.map((run) => ({ ...run, text: run.text.trimEnd() })).filter(({ text }) => text !== '')
  })
}
