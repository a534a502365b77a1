// Runs a server as a child process. Unlike the SDK's transport, it owns the whole process group, so that processes
// started by `npx` end too, keeps the last lines of stderr, and throttles a server that floods.
import type { ChildProcess } from 'node:child_process'
import type { Readable } from 'node:stream'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio'
import spawn from 'cross-spawn'
import { watchdog } from '../../node/index.ts'
import { DEPTH, depthOf } from '../config/index.ts'
import type { StdioConfig } from '../types.ts'
import { createLineReader } from './lines.ts'
import { createTail } from './tail.ts'
import { createThrottle } from './throttle.ts'

/** @internal */
export type StdioTransport = Transport & {
  readonly pid: number | null
  /** Read by the SDK to see that this is a child process. */
  readonly stderr: null
  /** The last lines that the process wrote to stderr. */
  readonly tail: () => string
  /** How it ended, if it ended by itself. */
  readonly ending: () => string | undefined
}

export type StdioLimits = {
  /** Bytes of one message. */
  readonly longestLine: number
  /** Milliseconds from closing its input to SIGTERM, and from there to SIGKILL. */
  readonly grace: number
  /** A server that reads nothing for this many milliseconds while its input is full is killed; 30 s by default. */
  readonly stuckMs?: number
}

export const stdioLimits: StdioLimits = { longestLine: 32_000_000, grace: 1000 }

/** @internal */
export function createStdioTransport(
  { command, args, env, cwd }: StdioConfig,
  { longestLine, grace, stuckMs = 30_000 }: StdioLimits = stdioLimits,
  redact?: (text: string) => string,
): StdioTransport {
  const tail = createTail(redact)
  const reader = createLineReader(longestLine)
  /** Our requests that wait for a response. */
  const asked = new Set<unknown>()
  let child: ChildProcess | undefined
  let ending: string | undefined
  let isOver = false
  let closing: Promise<void> | undefined
  let moment: Promise<void> | undefined
  let sweeping: Promise<void> | undefined
  /** When the process last read a message, or had nothing to read. */
  let readAt = 0
  const over = deferred()

  const transport: StdioTransport = {
    get pid() {
      return child?.pid ?? null
    },
    stderr: null,
    tail: tail.text,
    ending: () => ending,
    start: () =>
      new Promise((resolve, reject) => {
        const started = spawn(command, [...args], {
          env: { ...getDefaultEnvironment(), ...env, [DEPTH]: String(depthOf(process.env) + 1) },
          cwd,
          stdio: ['pipe', 'pipe', 'pipe'],
          detached: process.platform !== 'win32',
          windowsHide: true,
        })
        child = started
        if (started.pid !== undefined) watchdog.guard(started.pid)
        started.once('spawn', resolve)
        started.once('error', (error) => {
          reject(error)
          finish(String(error))
        })
        started.once('exit', (code, signal) => {
          if (!closing || (code ?? 0) > 0)
            ending ??= signal ? `was ended by ${signal}` : `ended with exit code ${code}`
          const timer = setTimeout(() => finish(), LAST_WORDS)
          started.once('close', () => {
            clearTimeout(timer)
            finish()
          })
        })
        started.stdin?.on('error', (error) => transport.onerror?.(error))
        hear(started.stdout!, readOutput)
        hear(started.stderr!, (chunk) => {
          tail.add(chunk)
          return chunk.length
        })
      }),
    send: (message) =>
      new Promise<void>((resolve, reject) => {
        const input = child?.stdin
        if (isOver || !input?.writable) reject(notRunning())
        else if (input.writableLength > longestLine) reject(full(input.writableLength))
        else {
          if (input.writableLength === 0) readAt = performance.now()
          input.write(`${JSON.stringify(message)}\n`, (error) => {
            readAt = performance.now()
            if (error) reject(error)
            else resolve()
          })
          note(message)
        }
      }).catch(onceEnded),
    close: () => {
      closing ??= end()
      return closing
    },
  }

  function notRunning(): Error {
    return new Error(`the process ${ending ?? 'is not running'}`)
  }

  /** A pipe breaks before its process is known to have ended: waits for that, so that the error can say how it ended. */
  async function onceEnded(error: unknown): Promise<never> {
    const isBroken = !isOver && child?.stdin?.writable !== true
    if (isBroken) await Promise.race([over.promise, wait(BROKEN_PIPE_MS)])
    throw isBroken && ending !== undefined ? notRunning() : error
  }

  function note(message: JSONRPCMessage): void {
    if (!('method' in message)) return
    if ('id' in message) asked.add(message.id)
    else if (message.method === 'notifications/cancelled') asked.delete(message.params?.requestId)
  }

  /** Reads messages; returns how many bytes were unsolicited, including responses to no request. */
  function readOutput(chunk: Buffer): number {
    let unasked = 0
    try {
      for (const { bytes, message, isAnswer } of reader.read(chunk)) {
        const { id } = (message ?? {}) as { id?: unknown }
        if (!isAnswer || !asked.delete(id)) unasked += bytes
        if (message) deliver(message, isAnswer)
      }
    } catch (error) {
      transport.onerror?.(stop((error as Error).message))
    }
    return unasked
  }

  /** The SDK delivers notifications slightly later than responses, which would lose the last progress. */
  function deliver(message: JSONRPCMessage, isAnswer: boolean): void {
    if (isAnswer && moment) void moment.then(() => transport.onmessage?.(message))
    else transport.onmessage?.(message)
    if (isAnswer) return
    moment ??= new Promise<void>((resolve) => setImmediate(resolve)).finally(() => {
      moment = undefined
    })
  }

  /** A server may be busy with calls of others: it is killed only if it reads nothing at all. */
  function full(bytes: number): Error {
    if (performance.now() - readAt > stuckMs) return stop('it no longer reads its input')
    const size = `${Math.round(bytes / 1_000_000)} MB`
    return new Error(`the server no longer reads its input: ${size} are waiting; try again later`)
  }

  function stop(why: string): Error {
    ending = `was stopped: ${why}`
    kill('SIGKILL')
    return new Error(`the process ${ending}`)
  }

  function kill(signal: NodeJS.Signals): void {
    const pid = child?.pid
    if (pid === undefined) return
    if (process.platform === 'win32')
      spawn('taskkill', ['/pid', String(pid), '/t', '/f'], { stdio: 'ignore' })
    else killGroup(pid, signal)
  }

  function finish(why?: string): void {
    if (isOver) return
    isOver = true
    ending ??= why
    over.resolve()
    const pid = child?.pid
    if (pid !== undefined) sweeping = sweep(pid)
    child?.stdout?.destroy()
    child?.stderr?.destroy()
    transport.onclose?.()
  }

  async function end(): Promise<void> {
    if (!child) return
    const exited = new Promise<void>((resolve) => child?.once('exit', () => resolve()))
    const hasExited = () => child?.exitCode !== null || child?.signalCode !== null
    child.stdin?.end()
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (!hasExited()) await Promise.race([exited, wait(grace)])
      if (!hasExited()) kill(signal)
    }
    if (!hasExited()) await Promise.race([exited, wait(grace)])
    finish()
    await sweeping
  }

  return transport
}

/** Time for output written before the end to arrive. */
const LAST_WORDS = 200
/** From a broken pipe to the end of its process. */
const BROKEN_PIPE_MS = 2000

/** Reads a stream, with pauses if it never stops. */
function hear(stream: Readable, take: (chunk: Buffer) => number): void {
  const throttle = createThrottle(() => performance.now())
  stream.on('error', () => {})
  stream.on('data', (chunk: Buffer) => {
    const start = performance.now()
    const unasked = take(chunk)
    const share = Math.min(1, unasked / chunk.length)
    const pause = throttle.spend(unasked, (performance.now() - start) * share)
    if (pause === 0) return
    stream.pause()
    setTimeout(() => stream.resume(), pause).unref()
  })
}

/** The process has ended; kills what it started, too. */
async function sweep(group: number): Promise<void> {
  if (killGroup(group, 'SIGTERM')) {
    await wait(500)
    killGroup(group, 'SIGKILL')
  }
  watchdog.release(group)
}

/** Returns false if the process group no longer exists. */
function killGroup(group: number, signal: NodeJS.Signals): boolean {
  if (process.platform === 'win32') return false
  try {
    return process.kill(-group, signal)
  } catch {
    return false
  }
}

function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
