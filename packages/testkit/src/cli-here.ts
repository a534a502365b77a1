// Runs a command of the CLI inside the test's process, in a folder and an environment of its own. Starting a process
// takes half a second of CPU time; tests start one only where the process itself matters: pipes, signals, exit codes.
import { Readable } from 'node:stream'
import { onTestFinished, TestRunner } from 'vitest'
import type { Terminal } from '../../cli/src/command.ts'
import { runCli } from '../../cli/src/main.ts'

export type Ran = { readonly code: number; readonly out: string; readonly told: string }

export type Where = {
  readonly folder: string
  readonly environment: { readonly [name: string]: string }
}

/**
 * `piped`: what comes through standard input; without it there is no pipe. `isInteractive`: a person reads along. `run`: in
 * place of the whole command line.
 */
export async function runHere(
  { folder, environment }: Where,
  words: readonly string[],
  {
    piped,
    isInteractive = false,
    run = runCli,
    ask,
    client,
  }: {
    readonly piped?: string
    readonly isInteractive?: boolean
    readonly run?: typeof runCli
    /** What the person answers; nobody is there if left out. */
    readonly ask?: (question: string) => string
    /** The MCP client that started the command. */
    readonly client?: Terminal['client']
  } = {},
): Promise<Ran> {
  const leave = enter(folder, environment)
  let out = ''
  let told = ''
  try {
    const code = await run(words, {
      print: (text) => {
        out += `${text}\n`
      },
      report: (text) => {
        told += `${text}\n`
      },
      isInteractive,
      ...(ask ? { ask: async (question: string) => ask(question) } : {}),
      ...(client ? { client } : {}),
      input: {
        stream: Readable.from(piped === undefined ? [] : [Buffer.from(piped)]),
        isPiped: piped !== undefined,
      },
    })
    return { code, out, told }
  } finally {
    leave()
  }
}

let isTaken = false

/**
 * Folder and environment belong to the whole process: one run at a time. Returns how to leave again, which the end of the
 * test does too: a command that hangs must not fail all tests behind it.
 */
export function enter(folder: string, environment: Where['environment']): () => void {
  if (isTaken) throw new Error('a command runs in this process: wait for its end before you start the next')
  isTaken = true
  const before = { folder: process.cwd(), environment: { ...process.env } }
  replaceEnvironment(environment)
  process.chdir(folder)
  let isInside = true
  const leave = () => {
    if (!isInside) return
    isInside = false
    process.chdir(before.folder)
    replaceEnvironment(before.environment)
    isTaken = false
  }
  if (TestRunner.getCurrentTest() !== undefined) onTestFinished(leave)
  return leave
}

function replaceEnvironment(next: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (!(name in next)) delete process.env[name]
  Object.assign(process.env, next)
}
