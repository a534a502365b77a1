// Runs scripts, small JavaScript programs that call tools, each in its own sandbox and only a few at a time.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { createSlots } from '@toolshelf/core/internal/node'
import { runInWorker, type StartWorker, startThread } from './script-run.ts'
import { type CallForScript, type ScriptLimits, type ScriptOutcome, scriptLimits } from './types.ts'

/** Runs scripts. */
export type ScriptRunner = {
  /** Runs a script. Never rejects: failures of the script, and of the sandbox, are outcomes. */
  run(source: string, call: CallForScript, options?: RunScriptOptions): Promise<ScriptOutcome>
}

export type RunScriptOptions = {
  readonly signal?: AbortSignal | undefined
  /** Whose script it is; owners share the threads. */
  readonly owner?: unknown
}

type ScriptRunnerOptions = {
  /** Limits in place of the defaults. */
  readonly limits?: Partial<ScriptLimits>
  /** The time that scripts see. */
  readonly now?: () => number
  /** Starts the thread of a script; a worker of Node by default. @internal */
  readonly startWorker?: StartWorker
}

/** Scripts that a process runs at the same time, half of them of one owner; the others wait. */
const CONCURRENT_SCRIPTS = 8

/** Creates a runner of scripts. */
export function createScriptRunner(options: ScriptRunnerOptions = {}): ScriptRunner {
  const { now = Date.now, startWorker = startThread(worker) } = options
  const limits = { ...scriptLimits, ...options.limits }
  const slots = createSlots(CONCURRENT_SCRIPTS)
  return {
    async run(source, call, { signal = new AbortController().signal, owner } = {}) {
      const refused = complaintAbout(source, limits)
      if (refused) return { state: 'failed', text: refused, log: '', calls: [] }
      const wasm = await compiled()
      return slots(owner, () => runInWorker({ startWorker, wasm, source, call, limits, now: now(), signal }))
    },
  }
}

function complaintAbout(source: unknown, { sourceCharacters }: ScriptLimits): string | undefined {
  if (typeof source !== 'string' || source.trim() === '')
    return 'Give the program as text in "script", for example {"script": "return 1 + 1"}.'
  if (source.length > sourceCharacters)
    return `The script has ${source.length} characters; ${sourceCharacters} are allowed. Data belongs into results of tools, not into the script.`
  return undefined
}

const beside = (name: string) => new URL(name, import.meta.url)
/** The build bundles the worker as worker.js. */
const worker = existsSync(beside('worker.js')) ? beside('worker.js') : beside('worker.mjs')

/** Node 20's types declare WebAssembly's modules, but not the function that compiles them. */
const { compile } = (
  globalThis as unknown as {
    WebAssembly: { compile(bytes: Uint8Array): Promise<WebAssembly.Module> }
  }
).WebAssembly

let module: Promise<WebAssembly.Module> | undefined

/** Compiles QuickJS once per process. */
function compiled(): Promise<WebAssembly.Module> {
  const bundled = beside('quickjs.wasm')
  const find = () => createRequire(import.meta.url).resolve('@jitl/quickjs-wasmfile-release-sync/wasm')
  module ??= readFile(existsSync(bundled) ? bundled : find()).then(compile)
  return module
}
