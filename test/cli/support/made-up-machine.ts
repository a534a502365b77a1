// A machine with a home of its own, and commands run on it.
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Command, readInput } from '../../../packages/cli/src/command.ts'
import { connectCommand } from '../../../packages/cli/src/connect.ts'
import type { LocalMachine } from '../../../packages/mcp/src/config/places.ts'

export const PROGRAM = ['/opt/node/bin/node', '/opt/lib/node_modules/toolshelf/dist/cli/main.js'] as const

export type Answers = string | ((question: string) => string)

export function madeUpMachine(environment: { [name: string]: string } = {}) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'toolshelf-machine-')))
  const machine: LocalMachine = {
    home: join(root, 'home'),
    folder: join(root, 'project'),
    platform: 'linux',
    environment,
    program: PROGRAM,
  }
  mkdirSync(machine.folder, { recursive: true })
  const own = join(machine.home, '.config/toolshelf/toolshelf.json')
  const path = (name: string) => join(machine.home, name)
  return {
    root,
    machine,
    own,
    journal: join(dirname(own), 'applied'),
    path,
    write(name: string, text: string | Buffer, mode = 0o644): string {
      const file = path(name)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, text, { mode })
      return file
    },
    read: (name: string) => readFileSync(path(name), 'utf8'),
    import: (words: readonly string[], answers?: Answers, started: string[] = []) =>
      runCommand(
        connectCommand(
          () => machine,
          async (servers) => void started.push(...servers.map(({ name }) => name)),
        ),
        words,
        answers,
      ),
  }
}

/** Runs a command with what it prints collected. */
export async function runCommand(command: Command, words: readonly string[], answers?: Answers) {
  const printed: string[] = []
  const told: string[] = []
  const asked: string[] = []
  const ask = async (question: string) => {
    asked.push(question)
    return typeof answers === 'function' ? answers(question) : (answers ?? '')
  }
  const code = await command.run(readInput(command, words), {
    print: (text) => void printed.push(text),
    report: (text) => void told.push(text),
    isInteractive: false,
    ...(answers === undefined ? {} : { ask }),
  })
  return { code, printed: printed.join('\n'), told: told.join('\n'), asked }
}
