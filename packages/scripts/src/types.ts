// Defines scripts: their limits, how they call tools, and how they end.
import type { Fields } from '@toolshelf/core/internal'

/** Limits of one script. A script that exceeds one ends with an answer that says which, and what to do. */
export type ScriptLimits = {
  /** Characters of the script. Default: 50,000. */
  readonly sourceCharacters: number
  /** Milliseconds of computing, without the time in which the script waits for tools. Default: 5000. */
  readonly computeMs: number
  /** Milliseconds from start to end, without the time in which a person is asked. Default: 120,000. */
  readonly totalMs: number
  /** Bytes that the script's values may take. Default: 64 MiB. */
  readonly memoryBytes: number
  /** Bytes of its stack. Default: 256 KiB. */
  readonly stackBytes: number
  /** Calls of tools. Default: 100. */
  readonly calls: number
  /** Calls that run at the same time; the others wait. Default: 8. */
  readonly concurrentCalls: number
  /** Characters of the input of one call, as JSON. Default: 200,000. */
  readonly inputCharacters: number
  /** Characters of one result that the script receives. Default: 5,000,000. */
  readonly resultCharacters: number
  /** Characters of what the script returns. Default: 200,000. */
  readonly outputCharacters: number
  /** Characters that it may write to the console. Default: 4000. */
  readonly logCharacters: number
}

/** The default limits. */
export const scriptLimits: ScriptLimits = {
  sourceCharacters: 50_000,
  computeMs: 5000,
  totalMs: 120_000,
  memoryBytes: 64 * 1024 * 1024,
  stackBytes: 256 * 1024,
  calls: 100,
  concurrentCalls: 8,
  inputCharacters: 200_000,
  resultCharacters: 5_000_000,
  outputCharacters: 200_000,
  logCharacters: 4000,
}

/** A call as a script writes it: `tools.github.list_issues({…})` has the path `['github', 'list_issues']`. */
export type ScriptCall = { readonly path: readonly string[]; readonly input: Fields }

/** What a call gets besides its input. */
export type ScriptCallContext = {
  /** Aborts when the script ends for whatever reason. */
  readonly signal: AbortSignal
  /** Runs work that asks a person; its time does not count. */
  readonly askPerson: <Value>(work: () => Promise<Value>) => Promise<Value>
}

/** Runs a call for a script and returns its result as a JSON value. The message of a rejection is thrown in the script. */
export type CallForScript = (call: ScriptCall, context: ScriptCallContext) => Promise<unknown>

/** How a script ended. */
export type ScriptOutcome = {
  /** `failed`: it threw, or exceeded a limit. `stopped`: the signal was aborted. */
  readonly state: 'returned' | 'failed' | 'stopped'
  /** What it returned (a string as it is, other values as JSON), or why it failed and what to do. */
  readonly text: string
  /** What it wrote to the console, cut at the limit. */
  readonly log: string
  readonly calls: readonly ScriptCallRecord[]
}

/** A call that a script made; `unfinished`: it was cancelled when the script ended. */
export type ScriptCallRecord = {
  /** The path with dots. */
  readonly tool: string
  readonly outcome: 'done' | 'failed' | 'unfinished'
}

/** The data that the worker starts with. @internal */
export type WorkerInput = {
  readonly wasm: WebAssembly.Module
  readonly source: string
  readonly limits: ScriptLimits
  /** The time that the script sees, in milliseconds since 1970. */
  readonly now: number
}

/** Messages from the worker. @internal */
export type WorkerMessage =
  | { readonly type: 'call'; readonly id: number; readonly path: readonly string[]; readonly input: string }
  /** The script waits for calls. */
  | { readonly type: 'idle' }
  | { readonly type: 'end'; readonly ending: ScriptEnding; readonly log: string }

/** How a script ended in the sandbox. @internal */
export type ScriptEnding =
  | { readonly kind: 'value'; readonly text: string }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'too-long'; readonly length: number }
  | { readonly kind: 'error'; readonly message: string }
  | { readonly kind: 'computed-too-long' }
  | { readonly kind: 'never-settles' }
  | { readonly kind: 'crash'; readonly message: string }

/** Messages to the worker: the result of a call as JSON, or why it failed. @internal */
export type WorkerAnswer =
  | { readonly id: number; readonly json: string }
  | { readonly id: number; readonly error: string }
