// Batches: several calls of the model in one, at once where they do not depend on each other.

import { type Fields, isContainer, isFields, listOf, parseJson, textOf, toJson } from './lib/json.ts'
import { misnamesArguments } from './names.ts'

export const BATCH_TOOL = 'CallTools'

const MAX_CALLS = 25
const CONCURRENT_CALLS = 8

/** The definition, without the field names that differ between the API and MCP. */
export const callToolsTool = {
  name: BATCH_TOOL,
  description: 'Makes several independent calls at once; each gets its own result or error, a line of JSON.',
  schema: {
    type: 'object',
    properties: {
      calls: {
        type: 'array',
        maxItems: MAX_CALLS,
        items: {
          type: 'object',
          properties: {
            name: { type: 'string' },
            arguments: { type: 'object' },
          },
          required: ['name', 'arguments'],
        },
      },
    },
    required: ['calls'],
  },
} as const

export type BatchCall = { readonly name: string; readonly input: Fields }

/** Reads the input of CallTools; returns a text for the model that says what is wrong with it. */
export function readBatch(input: unknown): readonly BatchCall[] | string {
  const wanted = `${BATCH_TOOL} takes {"calls": [{"name": "<full name of the tool>", "arguments": {…}}, …]}`
  const list = isFields(input) ? parsed(input.calls) : undefined
  const calls = listOf(list).map(readCall)
  if (calls.length === 0) return `${wanted}, with at least one call.`
  if (calls.length > MAX_CALLS)
    return `${calls.length} calls are too many: ${BATCH_TOOL} takes up to ${MAX_CALLS}.`
  const wrong = calls.indexOf(undefined)
  return wrong < 0
    ? calls.filter((call) => call !== undefined)
    : `Call ${wrong + 1} is not valid; no call was made. ${wanted}.`
}

function readCall(value: unknown): BatchCall | undefined {
  if (!isFields(value) || typeof value.name !== 'string' || misnamesArguments(value)) return undefined
  const input = parsed(value.arguments ?? {})
  return isFields(input) ? { name: value.name, input } : undefined
}

/** Parses a value that a model wrote as a JSON string. */
function parsed(value: unknown): unknown {
  return typeof value === 'string' ? parseJson(value) : value
}

type BatchSteps<Result> = {
  /** Returns what a call may change; calls with different scopes do not wait for each other. */
  readonly scopeOf: (call: BatchCall) => string
  /** Returns whether the call is known to change nothing. */
  readonly isReadOnly: (call: BatchCall) => boolean
  /** Runs a call. Must not reject for a reason that concerns this call alone. */
  readonly run: (call: BatchCall, index: number) => Promise<Result>
}

/**
 * Runs the calls and returns their results in the same order. Within a scope, a call that may change something waits for
 * all calls before it, and a call that only reads waits for the last change before it.
 */
export function runBatch<Result>(
  calls: readonly BatchCall[],
  { scopeOf, isReadOnly, run }: BatchSteps<Result>,
): Promise<Result[]> {
  const scopes = new Map<string, { lastChange: Promise<unknown>; reads: Promise<unknown>[] }>()
  const withSlot = createQueue(CONCURRENT_CALLS)
  const results = calls.map((call, index) => {
    const name = scopeOf(call)
    const scope = scopes.get(name) ?? { lastChange: Promise.resolve(), reads: [] }
    scopes.set(name, scope)
    const isRead = isReadOnly(call)
    const before = isRead ? [scope.lastChange] : [scope.lastChange, ...scope.reads]
    const result = Promise.allSettled(before).then(() => withSlot(() => run(call, index)))
    if (isRead) scope.reads.push(result)
    else {
      scope.lastChange = result
      scope.reads = []
    }
    return result
  })
  return Promise.all(results)
}

/** What a call of a batch returned; the blocks are those of the API or of MCP. */
type BatchResult = {
  readonly name: string
  readonly content: readonly Fields[]
  readonly structuredContent?: unknown
  readonly isFailed: boolean
}

/** Blocks that no text can stand for. */
const MEDIA: ReadonlySet<unknown> = new Set(['image', 'audio', 'document'])

/**
 * Returns one JSON object for each call, on a line of its own in a block of its own, so that no result can write what
 * looks like another's; behind it the call's images, sounds and documents.
 */
export function batchContent(results: readonly BatchResult[]): Fields[] {
  return results.flatMap(({ name, content, structuredContent, isFailed }, index) => {
    const texts = content.filter(({ type }) => type === 'text').map(({ text }) => textOf(text))
    const media = content.filter(({ type }) => MEDIA.has(type))
    const others = content.filter((block) => block.type !== 'text' && !MEDIA.has(block.type))
    const said = texts.join('\n')
    const isJson = isJsonLine(said)
    const text = toJson({
      call: index + 1,
      name,
      ...(isFailed ? { failed: true } : {}),
      ...(texts.length > 0 && !isJson ? { text: said } : {}),
      ...(content.length === 0 && structuredContent !== undefined ? { json: structuredContent } : {}),
      ...(others.length > 0 ? { content: others } : {}),
      ...(media.length > 0 ? { media: `${media.length} in the next blocks` } : {}),
    })
    // JSON goes in as it was written: escaped it would take a quarter more tokens.
    return [{ type: 'text', text: isJson ? `${text.slice(0, -1)},"json":${said}}` : text }, ...media]
  })
}

function isJsonLine(text: string): boolean {
  return /^[{[][^\r\n]*$/.test(text) && !text.includes('\\ud') && isContainer(parseJson(text))
}

/** Returns a function that runs at most `maxRunning` tasks at once; the others wait in order. */
export function createQueue(maxRunning: number): <Value>(task: () => Promise<Value>) => Promise<Value> {
  let free = maxRunning
  const waiting: (() => void)[] = []
  return async (task) => {
    if (free > 0) free--
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await task()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else free++
    }
  }
}
