// Runs a server as a child process. Unlike the SDK's transport, it owns the whole process group, so that processes
// started by `npx` end too, keeps the last lines of stderr, and throttles a server that floods.
// Implements H1, H6, H12.
import type { ChildProcess } from 'node:child_process'
import { posix, win32 } from 'node:path'
import type { Readable } from 'node:stream'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { cleanText, parseJson, wellFormedJson } from '@toolshelf/core/internal'
import { watchdog, whyTooComplex } from '@toolshelf/core/internal/node'
import spawn from 'cross-spawn'
import { DEPTH, depthOf } from '../config/gateway-depth.ts'
import { lastLinesWithError } from '../protocol/protocol.ts'
import type { StdioConfig } from '../types.ts'

export type StdioLimits = {
  /** Bytes of one message from the server, and of messages to it that wait to be read. Default: 32 MB. */
  readonly maxMessageBytes: number
  /** Milliseconds from closing its input to SIGTERM, from there to SIGKILL, and from there to giving up. Default: 1000. */
  readonly graceMs: number
  /** Milliseconds without reading after which a server with a full input is killed. Default: 30 s. */
  readonly stuckMs?: number
}

/** The default limits. */
export const stdioLimits: StdioLimits = { maxMessageBytes: 32_000_000, graceMs: 1000 }

/**
 * The transport to a child process.
 * @internal
 */
export class StdioTransport implements Transport {
  onmessage?: NonNullable<Transport['onmessage']>
  onclose?: NonNullable<Transport['onclose']>
  onerror?: NonNullable<Transport['onerror']>
  /** Read by the SDK to see that this is a child process. */
  readonly stderr = null
  readonly #config: StdioConfig
  readonly #limits: StdioLimits
  readonly #tail: Tail
  readonly #reader: LineReader
  /** Requests that wait for a response. */
  readonly #asked = new Set<unknown>()
  readonly #over = deferred()
  #child: ChildProcess | undefined
  #ending: string | undefined
  #isOver = false
  #closing: Promise<void> | undefined
  #moment: Promise<void> | undefined
  #sweeping: Promise<void> | undefined
  /** When a message was last written to the process, or its input was empty. */
  #readAt = 0

  constructor(config: StdioConfig, limits: StdioLimits = stdioLimits, redact?: (text: string) => string) {
    this.#config = config
    this.#limits = limits
    this.#tail = createTail(redact)
    this.#reader = createLineReader(limits.maxMessageBytes)
  }

  get pid(): number | null {
    return this.#child?.pid ?? null
  }

  /** Returns the last lines that the process wrote to stderr. */
  tail(): string {
    return this.#tail.text()
  }

  /** Returns how it ended, if it ended by itself. */
  ending(): string | undefined {
    return this.#ending
  }

  /** Kills the process; `ending` gives the reason. */
  stop(why: string): void {
    this.#stop(why)
  }

  start(): Promise<void> {
    const { command, args, cwd } = this.#config
    watchdog.prepare()
    return new Promise((resolve, reject) => {
      const child = spawn(command, [...args], {
        env: { ...serverEnvironment(this.#config), [DEPTH]: String(depthOf(process.env) + 1) },
        cwd,
        stdio: ['pipe', 'pipe', 'pipe'],
        detached: process.platform !== 'win32',
        windowsHide: true,
      })
      this.#child = child
      if (child.pid !== undefined) watchdog.guard(child.pid)
      child.once('spawn', resolve)
      child.once('error', (error) => {
        reject(error)
        this.#finish(String(error))
      })
      child.once('exit', (code, signal) => this.#exited(child, code, signal))
      child.stdin?.on('error', (error) => this.onerror?.(error))
      hear(child.stdout!, (chunk) => this.#readOutput(chunk))
      hear(child.stderr!, (chunk) => {
        this.#tail.add(chunk)
        return chunk.length
      })
    })
  }

  send(message: JSONRPCMessage): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const input = this.#child?.stdin
      if (this.#isOver || !input?.writable) reject(this.#notRunning())
      else if (input.writableLength > this.#limits.maxMessageBytes) reject(this.#full(input.writableLength))
      else {
        if (input.writableLength === 0) this.#readAt = performance.now()
        input.write(`${wellFormedJson(JSON.stringify(message))}\n`, (error) => {
          this.#readAt = performance.now()
          if (error) reject(error)
          else resolve()
        })
        this.#note(message)
      }
    }).catch((error: unknown) => this.#onceEnded(error))
  }

  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  #exited(child: ChildProcess, code: number | null, signal: NodeJS.Signals | null): void {
    if (!this.#closing || (code ?? 0) > 0)
      this.#ending ??= signal ? `was ended by ${signal}` : `ended with exit code ${code}`
    const timer = setTimeout(() => this.#finish(), LAST_OUTPUT_MS)
    child.once('close', () => {
      clearTimeout(timer)
      this.#finish()
    })
  }

  #notRunning(): Error {
    return new Error(`the process ${this.#ending ?? 'is not running'}`)
  }

  /** Waits for the end of a process whose pipe broke, so that the error can say how it ended. */
  async #onceEnded(error: unknown): Promise<never> {
    const isBroken = !this.#isOver && this.#child?.stdin?.writable !== true
    if (isBroken) await Promise.race([this.#over.promise, wait(BROKEN_PIPE_MS)])
    throw isBroken && this.#ending !== undefined ? this.#notRunning() : error
  }

  #note(message: JSONRPCMessage): void {
    if (!('method' in message)) return
    if ('id' in message) this.#asked.add(message.id)
    else if (message.method === 'notifications/cancelled') this.#asked.delete(message.params?.requestId)
  }

  /** Reads messages; returns how many bytes were unsolicited, including responses to no request. */
  #readOutput(chunk: Buffer): number {
    let unasked = 0
    try {
      for (const { bytes, message, isAnswer } of this.#reader.read(chunk)) {
        const { id } = (message ?? {}) as { id?: unknown }
        if (!isAnswer || !this.#asked.delete(id)) unasked += bytes
        if (message) this.#deliver(message, isAnswer)
      }
    } catch (error) {
      this.onerror?.(this.#stop((error as Error).message))
    }
    return unasked
  }

  /** Delivers a message; delays answers a little, because the SDK delays notifications and would lose the last progress. */
  #deliver(message: JSONRPCMessage, isAnswer: boolean): void {
    if (isAnswer && this.#moment) void this.#moment.then(() => this.onmessage?.(message))
    else this.onmessage?.(message)
    if (isAnswer) return
    this.#moment ??= new Promise<void>((resolve) => setImmediate(resolve)).finally(() => {
      this.#moment = undefined
    })
  }

  /** Returns the error for a full input. Kills the server only if it reads nothing at all: it may be busy with other calls. */
  #full(bytes: number): Error {
    const { stuckMs = STUCK_MS } = this.#limits
    if (performance.now() - this.#readAt > stuckMs) return this.#stop('it no longer reads its input')
    const size = `${Math.round(bytes / 1_000_000)} MB`
    return new Error(`the server no longer reads its input: ${size} are waiting; try again later`)
  }

  #stop(why: string): Error {
    this.#ending = `was stopped: ${why}`
    this.#kill('SIGKILL')
    return new Error(`the process ${this.#ending}`)
  }

  #kill(signal: NodeJS.Signals): void {
    const pid = this.#child?.pid
    if (pid === undefined) return
    if (process.platform === 'win32')
      spawn('taskkill', ['/pid', String(pid), '/t', '/f'], { stdio: 'ignore' })
    else killGroup(pid, signal)
  }

  #finish(why?: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#ending ??= why
    this.#over.resolve()
    const pid = this.#child?.pid
    if (pid !== undefined) this.#sweeping = sweep(pid)
    this.#child?.stdout?.destroy()
    this.#child?.stderr?.destroy()
    this.onclose?.()
  }

  async #end(): Promise<void> {
    const child = this.#child
    if (!child) return
    const { graceMs } = this.#limits
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    const hasExited = () => child.exitCode !== null || child.signalCode !== null
    child.stdin?.end()
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (!hasExited()) await Promise.race([exited, wait(graceMs)])
      if (!hasExited()) this.#kill(signal)
    }
    if (!hasExited()) await Promise.race([exited, wait(graceMs)])
    this.#finish()
    await this.#sweeping
  }
}

/** Milliseconds for output written before the exit to arrive. */
const LAST_OUTPUT_MS = 200
/** Milliseconds without reading after which a server with a full input is killed. */
const STUCK_MS = 30_000
/** Milliseconds to wait for the exit of a process whose pipe broke. */
const BROKEN_PIPE_MS = 2000

/** Reads a stream; `take` returns the unsolicited bytes of a chunk, and too many of them pause the stream. */
function hear(stream: Readable, take: (chunk: Buffer) => number): void {
  const throttle = createThrottle(() => performance.now())
  stream.on('error', () => {})
  stream.on('data', (chunk: Buffer) => {
    const start = process.cpuUsage()
    const unasked = take(chunk)
    const share = Math.min(1, unasked / chunk.length)
    const pause = throttle.spend(unasked, millisecondsOf(process.cpuUsage(start)) * share)
    if (pause === 0) return
    stream.pause()
    setTimeout(() => stream.resume(), pause).unref()
  })
}

/** Returns CPU time rather than elapsed time, which on a busy machine includes that of other programs. */
function millisecondsOf({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1000
}

/** Kills what is left of a process group after its leader has ended: SIGTERM, then SIGKILL after half a second. */
async function sweep(group: number): Promise<void> {
  if (killGroup(group, 'SIGTERM')) {
    await wait(500)
    killGroup(group, 'SIGKILL')
  }
  watchdog.release(group)
}

/** Signals a process group; returns false if it no longer exists. */
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

type LineReader = ReturnType<typeof createLineReader>

type MessageLine = {
  readonly bytes: number
  /** The message; undefined if the line is not one. */
  readonly message: JSONRPCMessage | undefined
  readonly isAnswer: boolean
}

const NEWLINE = 10

/** Values of one message. More are seconds of parsing, during which nothing else is done. */
const MAX_VALUES = 5_000_000

function createLineReader(maxBytes: number) {
  let parts: Buffer[] = []
  let size = 0
  return {
    /** Returns the lines that a chunk completes. Throws if a line is too long or has too many values. */
    read(chunk: Buffer) {
      const lines: MessageLine[] = []
      let start = 0
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
        parts.push(chunk.subarray(start, end))
        const line = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
        parts = []
        size = 0
        start = end + 1
        lines.push(readLine(line))
      }
      if (start < chunk.length) {
        parts.push(chunk.subarray(start))
        size += chunk.length - start
      }
      if (size > maxBytes) {
        parts = []
        throw new Error(`it wrote a line of more than ${Math.round(maxBytes / 1_000_000)} MB`)
      }
      return lines
    },
  }
}

function readLine(line: Buffer): MessageLine {
  const message = parse(line)
  const isAnswer = message !== undefined && 'id' in message && !('method' in message)
  return { bytes: line.length + 1, message, isAnswer }
}

type Loose = { jsonrpc?: unknown; id?: unknown; method?: unknown; error?: unknown; result?: unknown }

function parse(line: Buffer): JSONRPCMessage | undefined {
  if (!looksLikeObject(line)) return undefined
  const why = whyTooComplex(line, { maxValues: MAX_VALUES, maxDepth: Number.POSITIVE_INFINITY })
  if (why !== undefined) throw new Error(`it wrote a message that ${why}`)
  const value = parseJson(line.toString('utf8')) as Loose | null | undefined
  if (typeof value !== 'object' || value?.jsonrpc !== '2.0') return undefined
  return mend(value) as JSONRPCMessage
}

const OPEN = 123
const CLOSE = 125

/** Returns whether a line starts with `{` and ends with `}`. Checked first, because parsing a flood of invalid JSON is slow. */
function looksLikeObject(line: Buffer): boolean {
  let start = 0
  let end = line.length - 1
  while (isBlank(line[start])) start++
  while (isBlank(line[end])) end--
  return line[start] === OPEN && line[end] === CLOSE
}

function isBlank(byte = 0): boolean {
  return byte === 32 || (byte >= 9 && byte <= 13)
}

/** Turns a malformed response into a valid error, so that its request fails at once instead of timing out. */
function mend(value: Loose): object {
  const { error, result, ...rest } = value
  const isFine = typeof result === 'object' && result !== null && !Array.isArray(result)
  if (error !== undefined && !(error === null && isFine)) return { ...rest, error: mendError(error) }
  if (isFine || !('result' in value)) return error === undefined ? value : { ...rest, result }
  const shown = JSON.stringify(result).slice(0, MAX_EXCERPT_LENGTH)
  return { ...rest, error: { code: -32603, message: `its answer is not an object: ${shown}` } }
}

const MAX_EXCERPT_LENGTH = 500

function mendError(error: unknown): { code: number; message: string } {
  const { code, message, ...rest } = (typeof error === 'object' && error !== null ? error : {}) as Loose & {
    code?: unknown
    message?: unknown
  }
  return {
    ...rest,
    code: Number.isInteger(code) ? (code as number) : -32603,
    message:
      typeof message === 'string'
        ? message
        : `an error without a message: ${JSON.stringify(error).slice(0, MAX_EXCERPT_LENGTH)}`,
  }
}

/** The last lines of an output. */
type Tail = ReturnType<typeof createTail>

const MAX_CHARACTERS = 8_192
const MAX_LINES = 20
/** Bytes to keep in front of what is shown, so that a secret that begins there is still found whole. */
const MARGIN = 8_192

function createTail(redact: (text: string) => string = (text) => text) {
  let kept: Buffer = Buffer.alloc(0)
  let isCut = false
  return {
    add(chunk: Buffer) {
      const all = Buffer.concat([kept, chunk.subarray(-(MAX_CHARACTERS + MARGIN))])
      isCut ||= all.length > MAX_CHARACTERS + MARGIN || chunk.length > MAX_CHARACTERS + MARGIN
      kept = all.subarray(-(MAX_CHARACTERS + MARGIN))
    },
    text() {
      const shown = redact(cleanText(kept.toString('utf8')).replaceAll('\ufffd', '').trim())
      const lines = (isCut ? shown.slice(MARGIN / 2) : shown).slice(-MAX_CHARACTERS).split('\n')
      return lastLinesWithError(lines, MAX_LINES).join('\n')
    },
  }
}

const BURST_BYTES = 4_000_000
const BYTES_PER_MILLISECOND = 256
const BURST_TIME = 100
/** Share of the CPU time that a server may cost. */
const TIME_PER_MILLISECOND = 0.1
const MAX_PAUSE_MS = 5000

/** Slows the reading of a server whose unsolicited output exceeds its budget. */
function createThrottle(now: () => number) {
  const bytes = createBudget(BURST_BYTES, BYTES_PER_MILLISECOND)
  const time = createBudget(BURST_TIME, TIME_PER_MILLISECOND)
  let last = now()
  return {
    /** Adds to the count; returns the milliseconds to stop reading, 0 for none. */
    spend(spentBytes: number, spentTime: number) {
      const passed = now() - last
      last += passed
      return Math.min(MAX_PAUSE_MS, Math.max(bytes(passed, spentBytes), time(passed, spentTime)))
    },
  }
}

/** Creates a token bucket that may be overdrawn; it returns the milliseconds until it no longer is. */
export function createBudget(capacity: number, refill: number): (passed: number, spent: number) => number {
  let left = capacity
  return (passed, spent) => {
    left = Math.min(capacity, left + passed * refill) - spent
    return left >= 0 ? 0 : -left / refill
  }
}

/** Where the variables come from. Default: this process. */
type EnvironmentSource = {
  readonly environment?: NodeJS.ProcessEnv
  readonly platform?: NodeJS.Platform
  /** The path of our own Node; programs beside it, such as `npx`, are found last. */
  readonly program?: string
}

/** Names in upper case, of all platforms; proxies are often written in lower case. */
const COMMON: ReadonlySet<string> = new Set([
  // The user, the shell and the system.
  ...['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER'],
  ...['APPDATA', 'COMSPEC', 'HOMEDRIVE', 'HOMEPATH', 'LOCALAPPDATA', 'NUMBER_OF_PROCESSORS', 'PATHEXT'],
  ...['PROCESSOR_ARCHITECTURE', 'PROGRAMDATA', 'PROGRAMFILES', 'PROGRAMFILES(X86)', 'PROGRAMW6432'],
  ...['SYSTEMDRIVE', 'SYSTEMROOT', 'USERNAME', 'USERPROFILE', 'WINDIR'],
  // The language, the time zone and temporary folders.
  ...['LANG', 'LANGUAGE', 'TZ', 'TMPDIR', 'TMP', 'TEMP'],
  // Proxies and certificates.
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY', 'NODE_USE_ENV_PROXY', 'NODE_USE_SYSTEM_CA'],
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE'],
  // The SSH agent and the desktop.
  ...['SSH_AUTH_SOCK', 'DISPLAY', 'WAYLAND_DISPLAY', 'XAUTHORITY', 'DBUS_SESSION_BUS_ADDRESS'],
])
const PREFIX = /^(?:LC_|XDG_|NPM_CONFIG_)/
const CREDENTIAL = /^NPM_CONFIG_.*(?:AUTH|PASS|TOKEN|SECRET|USERNAME|KEY)/
/** Our own variables may hold keys of the gateway and of its store. */
const OWN = /^TOOLSHELF_/

/** Returns the environment of a server process: what any program of its user needs, and what its entry names. */
export function serverEnvironment(
  { env, inheritEnv = [] }: Pick<StdioConfig, 'env' | 'inheritEnv'>,
  {
    environment = process.env,
    platform = process.platform,
    program = process.execPath,
  }: EnvironmentSource = {},
): { [name: string]: string } {
  const isWindows = platform === 'win32'
  /** Windows knows one variable by a name in any case. */
  const keyOf = (name: string) => (isWindows ? name.toUpperCase() : name)
  const named = new Set(inheritEnv === true ? [] : inheritEnv.map(keyOf))
  const chosen = new Map<string, readonly [name: string, value: string]>()
  for (const [name, value] of Object.entries(environment)) {
    const isWanted = inheritEnv === true || named.has(keyOf(name)) || isCommon(name.toUpperCase())
    // A value that begins with `()` is a function of a shell.
    if (value === undefined || value.startsWith('()') || OWN.test(name.toUpperCase()) || !isWanted) continue
    chosen.set(keyOf(name), [name, value])
  }
  const [pathName, path] = chosen.get('PATH') ?? ['PATH', '']
  chosen.set('PATH', [pathName, withFolderOf(program, path, isWindows ? win32 : posix)])
  for (const [name, value] of Object.entries(env)) chosen.set(keyOf(name), [name, value])
  return Object.fromEntries(chosen.values())
}

function isCommon(name: string): boolean {
  return COMMON.has(name) || (PREFIX.test(name) && !CREDENTIAL.test(name))
}

/** Adds the folder of a program at the end, unless it is there. */
function withFolderOf(program: string, path: string, { delimiter, dirname }: typeof posix): string {
  const folders = path.split(delimiter).filter((folder) => folder !== '')
  const own = dirname(program)
  return folders.includes(own) ? path : [...folders, own].join(delimiter)
}
