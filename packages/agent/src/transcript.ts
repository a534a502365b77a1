// Stores a conversation on disk as one JSON line per change, so that a crash loses at most the line being written.
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Message, State } from '@toolshelf/core'
import {
  blocksOf,
  type Fields,
  fieldsOf,
  isFields,
  parseJson,
  textOf,
  toJson,
} from '@toolshelf/core/internal'
import { resultsForOpenCalls } from './run-calls.ts'
import { isNotBlank } from './sendable.ts'
import type { HistoryChange } from './types.ts'

/** A line: a change of the history with the shelf's state after it, or the state alone. */
export type TranscriptEntry =
  | (HistoryChange & { readonly state?: State })
  | { readonly type: 'state'; readonly state: State }

/** A file that a conversation is appended to. */
type Transcript = {
  /** The path of the file. */
  readonly file: string
  /** Appends an entry; omits a state that equals the last one written. */
  readonly write: (entry: TranscriptEntry) => void
}

/** A conversation read from a transcript. */
export type SavedConversation = {
  /** The history; pass it to `createAgent`. */
  readonly messages: readonly Message[]
  /** The shelf's last state; pass it to `createShelf`. Undefined if none was written. */
  readonly state: State | undefined
  /** Lines that could not be read. */
  readonly lost: number
}

/**
 * Opens a transcript that writes synchronously. Reports a write failure once; the session continues.
 *
 * @example
 * const transcript = openTranscript('session.jsonl', console.warn)
 * const agent = createAgent({ client, model, shelf, onHistory: transcript.write })
 */
export function openTranscript(file: string, notify: (message: string) => void): Transcript {
  let isBroken = false
  let written: State | undefined
  const attempt = (work: () => void) => {
    try {
      work()
      isBroken = false
    } catch (error) {
      if (!isBroken) notify(`the conversation is not being saved: ${(error as Error).message}`)
      isBroken = true
    }
  }
  attempt(() => mkdirSync(dirname(file), { recursive: true, mode: 0o700 }))
  return {
    file,
    write(entry) {
      const { state, ...change } = entry
      const isKnown = state !== undefined && written !== undefined && isSame(state, written)
      if (isKnown && entry.type === 'state') return
      // Starts a new line, so that a partial line from a failed write does not corrupt this one.
      const start = isBroken ? '\n' : ''
      const line = JSON.stringify(isKnown ? change : entry)
      attempt(() => appendFileSync(file, `${start}${line}\n`, { mode: 0o600 }))
      written = isBroken ? undefined : (state ?? written)
    },
  }
}

/** Compares states, by identity first: definitions, the large part, are the same objects if nothing changed. */
function isSame(one: State, other: State): boolean {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]) as Set<keyof State>
  return [...names].every((name) => one[name] === other[name] || toJson(one[name]) === toJson(other[name]))
}

/**
 * Reads a transcript; skips damaged lines.
 *
 * @example
 * const { messages, state } = readTranscript('session.jsonl')
 * const shelf = createShelf({ tools, ...(state ? { state } : {}) })
 * const agent = createAgent({ client, model, shelf, messages })
 */
export function readTranscript(file: string): SavedConversation {
  let messages: Message[] = []
  let state: State | undefined
  let lost = 0
  for (const entry of readTranscriptEntries(file)) {
    if (entry === undefined) lost++
    else state = entry.state ?? state
    if (entry?.type === 'append') messages.push(...entry.messages)
    if (entry?.type === 'replace') messages = [...entry.messages]
  }
  return { messages: mended(messages), state, lost }
}

/** Yields each line's entry; undefined for a damaged line. */
export function* readTranscriptEntries(file: string): Generator<TranscriptEntry | undefined> {
  const lines = readFileSync(file, 'utf8').split('\n')
  if (lines.at(-1) === '') lines.pop()
  for (const line of lines) yield parsed(line)
}

/** Ends a partial last line after a crash, so that the next entry starts on its own line. */
export function mendTranscript(file: string): void {
  const text = readFileSync(file, 'utf8')
  if (text !== '' && !text.endsWith('\n')) appendFileSync(file, '\n')
}

function parsed(line: string): TranscriptEntry | undefined {
  const value = parseJson(line)
  return isFields(value) && isEntry(value) ? (value as TranscriptEntry) : undefined
}

function isEntry({ type, messages, state }: Fields): boolean {
  if (type === 'state') return isFields(state)
  const isChange = type === 'append' || type === 'replace'
  return isChange && Array.isArray(messages) && (state === undefined || isFields(state))
}

/**
 * Makes a history with missing or foreign lines acceptable to the API: adds results for calls without one, and drops
 * results without a call.
 */
function mended(messages: readonly Message[]): Message[] {
  const whole: Message[] = []
  let reply: Message | undefined
  for (const message of messages.filter(isMessage)) {
    const blocks = blocksOf(message.content)
    const isCalled = ({ type, tool_use_id }: Fields) =>
      type !== 'tool_result' || blocksOf(reply?.content).some(({ id }) => id === tool_use_id)
    const isAnswered = (called: unknown) => blocks.some(({ tool_use_id }) => tool_use_id === called)
    whole.push(...resultsForOpenCalls(reply, isAnswered))
    if (whole.length === 0 && message.role !== 'user') whole.push({ role: 'user', content: LOST })
    const kept = blocks.filter(isCalled)
    if (kept.length === blocks.length) whole.push(message)
    else if (kept.length > 0) whole.push({ ...message, content: kept })
    reply = message.role === 'assistant' ? message : undefined
  }
  return [...whole, ...resultsForOpenCalls(reply)]
}

function isMessage(message: Message): boolean {
  const { role, content } = fieldsOf(message)
  const blocks = blocksOf(content)
  const isSaid = blocks.length > 0 && blocks.every((block) => textOf(block.type) !== '' && isNotBlank(block))
  return ROLES.has(role) && isSaid
}

const ROLES: ReadonlySet<unknown> = new Set(['user', 'assistant', 'system'])
const LOST = '(The beginning of this conversation is lost.)'
