// The tool `Bash`: runs a shell command and returns its output and exit code. Kills all its child processes at the end.
import type { ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Content } from '../../core/index.ts'
import { spawnGuarded, watchdog } from '../../node/index.ts'
import type { AgentTool } from '../types.ts'
import { createMiddleCut } from './middle-cut.ts'

const DEFAULT_SECONDS = 120
const MAX_SECONDS = 600
const MAX_BYTES = 30_000
/** Milliseconds a command gets to exit after SIGTERM. */
const GRACE_MS = 2000
/** Milliseconds to wait for remaining output after the command ends. */
const LINGER_MS = 250

/** Creates the tool Bash. */
export function bashTool(directory: string, environment: NodeJS.ProcessEnv): AgentTool {
  return {
    name: 'Bash',
    description: `Runs a command in bash in the working folder and answers with its output and exit code. There is no input to it. It is stopped after ${DEFAULT_SECONDS} seconds unless \`timeout\` says otherwise, and what it leaves in the background is stopped when it ends. To read, find, search or change files use Read, Glob, Grep, Write and Edit.`,
    input_schema: {
      type: 'object',
      properties: {
        command: { type: 'string', minLength: 1, description: 'The command.' },
        timeout: {
          type: 'number',
          exclusiveMinimum: 0,
          maximum: MAX_SECONDS,
          description: `Seconds; ${DEFAULT_SECONDS} if left out.`,
        },
      },
      required: ['command'],
      additionalProperties: false,
    },
    async run({ command, timeout = DEFAULT_SECONDS }, { signal }) {
      signal.throwIfAborted()
      return formatOutcome(
        await runCommand(String(command), Number(timeout), { directory, environment, signal }),
      )
    },
  }
}

type Place = {
  readonly directory: string
  readonly environment: NodeJS.ProcessEnv
  readonly signal: AbortSignal
}

type Outcome = { readonly output: string; readonly ending: string; readonly isGood: boolean }

function runCommand(
  command: string,
  seconds: number,
  { directory, environment, signal }: Place,
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = spawnGuarded(shellPath(), ['-c', command], { cwd: directory, env: environment })
    const output = createMiddleCut(MAX_BYTES)
    child.stdout.on('data', output.add)
    child.stderr.on('data', output.add)
    let isLate = false
    const stop = () => endGroup(child)
    const clock = setTimeout(() => {
      isLate = true
      stop()
    }, seconds * 1000)
    signal.addEventListener('abort', stop, { once: true })
    const settle = () => {
      clearTimeout(clock)
      signal.removeEventListener('abort', stop)
    }
    child.once('error', (error) => {
      settle()
      reject(new Error(`The shell could not be started in ${directory}: ${error.message}`))
    })
    child.once('exit', async (code, killed) => {
      settle()
      await allSaid(child)
      kill(child, 'SIGKILL')
      if (child.pid !== undefined) watchdog.release(child.pid)
      child.stdout.destroy()
      child.stderr.destroy()
      const ending = isLate
        ? `Stopped after ${seconds} seconds; give a longer timeout.`
        : endingOf(code, killed)
      resolve({ output: output.text(), ending, isGood: !isLate && code === 0 })
    })
  })
}

/** Returns the shell that runs commands. */
export function shellPath(): string {
  return existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh'
}

function endingOf(code: number | null, signal: NodeJS.Signals | null): string {
  return code === null ? `Ended by ${signal}.` : code === 0 ? '' : `Exit code ${code}.`
}

/** Resolves when all output has arrived, or soon after the command ends: background processes may keep pipes open. */
function allSaid(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, LINGER_MS)
    child.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

function endGroup(child: ChildProcess): void {
  kill(child, 'SIGTERM')
  const timer = setTimeout(() => kill(child, 'SIGKILL'), GRACE_MS)
  child.once('exit', () => clearTimeout(timer))
}

/** Signals the command's whole process group. */
function kill({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // The processes have already ended.
  }
}

function formatOutcome({ output, ending, isGood }: Outcome): Content {
  const text = [output.trimEnd(), ending].filter((part) => part !== '').join('\n') || '(No output.)'
  return { content: [{ type: 'text', text }], isError: !isGood }
}
