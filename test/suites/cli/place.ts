// Commands as a person has them: a folder with a home of its own, the built binary in a process, or the command line in
// the test's process.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished } from 'vitest'
import { binary } from '../../../packages/testkit/src/binary.ts'
import { type Ran, runHere } from '../../../packages/testkit/src/cli-here.ts'
import { heardFrom } from '../../../packages/testkit/src/heard.ts'
import { newPlace, type Place } from '../../terminal/support.ts'

export { newPlace, type Place, type Ran }

/** Arguments in single quotes where they have spaces, and what is piped in behind `<`. */
export function parse(line: string): { readonly words: string[]; readonly piped?: string } {
  const [command = '', piped] = line.split(' < ')
  const words = [...command.matchAll(/'([^']*)'|\S+/g)].map(([word, quoted]) => quoted ?? word)
  return { words, ...(piped === undefined ? {} : { piped }) }
}

/** Runs a command line in the test's process. */
export async function here(place: Place, line: string): Promise<Ran> {
  const { words, ...input } = parse(line)
  return lawful(await runHere(place, words, input))
}

/**
 * What holds for every run: it says why it fails and how to go on, and prints no stack of a program and nothing that controls
 * a terminal.
 */
export function lawful(ran: Ran): Ran {
  const { code, out, told } = ran
  expect(out + told).not.toMatch(/[^\P{Cc}\n]|^ {4}at .*:\d+:\d+\)?$/mu)
  expect(out).not.toMatch(/^toolshelf \w+: /m)
  if (code === 1) expect(out + told).not.toBe('')
  if (code === 2 && told !== '') expect(told).toMatch(/(?:\nMore: toolshelf \w+ --help|^toolshelf: .*)\n$/)
  else expect(told).not.toContain('\nUsage: ')
  return ran
}

export type Running = {
  readonly out: () => string
  readonly told: () => string
  readonly type: (text: string) => void
  /** Resolves with what the pattern finds in what was said so far. */
  readonly hears: (pattern: RegExp) => Promise<string[]>
  readonly end: (signal?: NodeJS.Signals) => void
  readonly ended: Promise<Ran>
}

/** Starts the built binary in the place; its standard streams are pipes. */
export function start(place: Place, words: readonly string[], program: readonly string[] = binary): Running {
  const child: ChildProcess = spawn(process.execPath, [...program, ...words], {
    cwd: place.folder,
    env: { ...place.environment },
    stdio: 'pipe',
  })
  const { out, told } = heardFrom(child)
  const ended = once(child, 'close').then(([code]): Ran => ({ code, out: out(), told: told() }))
  onTestFinished(() => void child.kill('SIGKILL'))
  return {
    out,
    told,
    ended,
    type: (text) => void child.stdin?.write(text),
    end: (signal) => void (signal === undefined ? child.stdin?.end() : child.kill(signal)),
    async hears(pattern) {
      for (;;) {
        const found = pattern.exec(out() + told())
        if (found) return [...found]
        const more = [child.stdout, child.stderr].map((stream) => once(stream!, 'data'))
        const isOver = await Promise.race([
          ended.then(() => true),
          ...more.map((one) => one.then(() => false)),
        ])
        if (isOver && !pattern.test(out() + told()))
          throw new Error(`it ended without ${pattern}: ${out()}${told()}`)
      }
    },
  }
}

/** Runs it to its end, with nothing to read. */
export function run(place: Place, words: readonly string[], program?: readonly string[]): Promise<Ran> {
  const running = start(place, words, program)
  running.end()
  return running.ended
}
