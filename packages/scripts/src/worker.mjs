// Runs one script in a worker thread, in QuickJS compiled to WebAssembly, and exchanges its calls with the main thread
// as JSON. Written in JavaScript, because worker threads of Node 20 cannot load TypeScript.
import { parentPort, workerData } from 'node:worker_threads'
import variant from '@jitl/quickjs-wasmfile-release-sync'
import { newQuickJSWASMModuleFromVariant, newVariant } from 'quickjs-emscripten-core'
import { guest } from './guest.mjs'

/** @type {import('./types.ts').WorkerInput} */
const { wasm, source, limits, now } = workerData

/** Pages of 64 KiB that the module needs at its start. */
const PAGES = 256

// QuickJS reads the time and seeds Math.random from these: a script sees its start time, in UTC, and no time passes.
Date.now = () => now
Date.prototype.getTimezoneOffset = () => 0

// Limits the memory itself, because QuickJS's own limit counts blocks rather than their sizes here, and refuses only
// single blocks that are too large.
const wasmMemory = new WebAssembly.Memory({
  initial: PAGES,
  maximum: Math.max(PAGES, Math.floor(limits.memoryBytes / 65_536)),
})
const quickjs = await newQuickJSWASMModuleFromVariant(newVariant(variant, { wasmModule: wasm, wasmMemory }))
const runtime = quickjs.newRuntime()
runtime.setMemoryLimit(limits.memoryBytes)
runtime.setMaxStackSize(limits.stackBytes)
const context = runtime.newContext()

/** Promises of the calls in progress, by id. */
const running = new Map()
let calls = 0
let log = ''
let computedMs = 0
let sliceStart = performance.now()
/** Whether the script has started. The time to set up the sandbox does not count. */
let hasBegun = false
let isOver = false

const hasComputedTooLong = () => computedMs + performance.now() - sliceStart > limits.computeMs
runtime.setInterruptHandler(() => hasBegun && hasComputedTooLong())

/** Runs a part of the script, and counts the time. */
function compute(work) {
  sliceStart = performance.now()
  try {
    return work()
  } finally {
    computedMs += performance.now() - sliceStart
    sliceStart = performance.now()
  }
}

/** @param {import('./types.ts').ScriptEnding} ending */
function end(ending) {
  if (isOver) return
  isOver = true
  parentPort.postMessage({ type: 'end', ending, log })
}

function call(pathHandle, inputHandle) {
  const promise = context.newPromise()
  const id = ++calls
  if (id > limits.calls) {
    const message = `this script has made ${limits.calls} calls, the most that are allowed; return what you have`
    rejectWith(promise, message)
    return promise.handle
  }
  running.set(id, promise)
  const path = JSON.parse(context.getString(pathHandle))
  parentPort.postMessage({ type: 'call', id, path, input: context.getString(inputHandle) })
  return promise.handle
}

function print(textHandle) {
  if (log.length > limits.logCharacters) return
  log += `${context.getString(textHandle)}\n`
  if (log.length > limits.logCharacters) log = `${log.slice(0, limits.logCharacters)}\n(cut)`
}

function rejectWith(promise, message) {
  const error = context.newError(message)
  promise.reject(error)
  error.dispose()
}

/** @param {import('./types.ts').WorkerAnswer} answer */
function settle(answer) {
  const promise = running.get(answer.id)
  running.delete(answer.id)
  if (!promise) return
  if ('error' in answer) rejectWith(promise, answer.error)
  else {
    const text = context.newString(answer.json)
    promise.resolve(text)
    text.dispose()
  }
}

/** Calls a function of the guest; returns its text, or undefined if it reached a limit or threw. */
function ask(helper, value) {
  const asked = compute(() => context.callFunction(helper, context.undefined, value))
  if (asked.error) return { error: asked.error }
  return { text: context.getString(asked.value) }
}

function endWithError(error) {
  if (hasComputedTooLong()) return end({ kind: 'computed-too-long' })
  const { text = 'the script threw a value that cannot be read' } = ask(helpers.described, error)
  end(hasComputedTooLong() ? { kind: 'computed-too-long' } : { kind: 'error', message: text })
}

function endWithValue(value) {
  const { text, error } = ask(helpers.rendered, value)
  if (text === undefined) endWithError(error)
  else if (text === 'nothing') end({ kind: 'nothing' })
  else if (text.startsWith('long ')) end({ kind: 'too-long', length: Number(text.slice(5)) })
  else end({ kind: 'value', text: text.slice(6) })
}

/** Runs pending jobs; afterwards the script has ended, waits for calls, or waits for something that never comes. */
function proceed() {
  compute(() => {
    while (runtime.hasPendingJob() && !hasComputedTooLong()) runtime.executePendingJobs(100).dispose()
  })
  if (hasComputedTooLong()) return end({ kind: 'computed-too-long' })
  const state = context.getPromiseState(script)
  if (state.type === 'fulfilled') return endWithValue(state.value)
  if (state.type === 'rejected') return endWithError(state.error)
  if (running.size === 0) return end({ kind: 'never-settles' })
  parentPort.postMessage({ type: 'idle' })
}

function guarded(work) {
  try {
    if (!isOver) work()
  } catch (error) {
    end({ kind: 'crash', message: String(error?.message ?? error) })
  }
}

/** @type {{ rendered: import('quickjs-emscripten-core').QuickJSHandle, described: import('quickjs-emscripten-core').QuickJSHandle }} */
let helpers
/** The promise of the script. */
let script

guarded(() => {
  const prelude = context.unwrapResult(context.evalCode(`(${guest})`, 'guest.js'))
  const { inputCharacters, outputCharacters, logCharacters } = limits
  const bounds = JSON.stringify({ inputCharacters, outputCharacters, logCharacters })
  const made = context.callFunction(
    prelude,
    context.undefined,
    context.newFunction('call', call),
    context.newFunction('print', print),
    context.unwrapResult(context.evalCode(`(${bounds})`)),
  )
  const given = context.unwrapResult(made)
  helpers = {
    rendered: context.getProp(given, 'rendered'),
    described: context.getProp(given, 'described'),
  }
  hasBegun = true
  // The script starts on the first line, so that line numbers in errors are its own.
  const started = compute(() => context.evalCode(`(async () => {${source}\n})()`, 'script.js'))
  if (started.error) return endWithError(started.error)
  script = started.value
  proceed()
})

parentPort.on('message', (answer) =>
  guarded(() => {
    settle(answer)
    proceed()
  }),
)
