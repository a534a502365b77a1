// A conversation on disk, a line of JSON for each change, so that a crash costs at most the line being written.
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Message, State } from '../core/index.ts'
import { type Fields, isFields } from '../core/oracle/json.ts'
import { blocksOf } from '../core/oracle/turns.ts'
import { unanswered } from './run-calls.ts'
import type { HistoryChange } from './types.ts'

/** What a line may say beside a change of the history. */
export type Entry = HistoryChange | { readonly type: 'state'; readonly state: State }

export type Transcript = {
  readonly file: string
  readonly write: (entry: Entry) => void
}

export type Saved = {
  readonly messages: readonly Message[]
  readonly state: State | undefined
  /** Lines that could not be read. */
  readonly lost: number
}

/** Writes at once; a disk that is full is told once, and the session goes on. */
export function openTranscript(file: string, notify: (message: string) => void): Transcript {
  let isBroken = false
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
      // What a failed write left of a line must not cost the next one.
      const start = isBroken ? '\n' : ''
      attempt(() => appendFileSync(file, `${start}${JSON.stringify(entry)}\n`, { mode: 0o600 }))
    },
  }
}

/** What a file tells, as far as it can be read: a line cut in half costs that line. */
export function readTranscript(file: string): Saved {
  const lines = readFileSync(file, 'utf8').split('\n')
  let messages: Message[] = []
  let state: State | undefined
  let lost = 0
  for (const line of lines.filter((one) => one !== '')) {
    const entry = parsed(line)
    if (entry?.type === 'append') messages.push(...(entry.messages as Message[]))
    else if (entry?.type === 'replace') messages = [...(entry.messages as Message[])]
    else if (entry?.type === 'state') state = entry.state as State
    else lost++
  }
  return { messages: mended(messages), state, lost }
}

/** After a crash the next line begins on its own. */
export function mendTranscript(file: string): void {
  const text = readFileSync(file, 'utf8')
  if (text !== '' && !text.endsWith('\n')) appendFileSync(file, '\n')
}

function parsed(line: string): { readonly [field: string]: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(line)
    const isWhole =
      isFields(value) && (value.type === 'state' ? isFields(value.state) : Array.isArray(value.messages))
    return isWhole ? (value as { readonly [field: string]: unknown }) : undefined
  } catch {
    return undefined
  }
}

/** As the API takes it, whatever lines are lost: calls without a result get one, results without a call are gone. */
function mended(messages: readonly Message[]): Message[] {
  const whole: Message[] = []
  let reply: Message | undefined
  for (const message of messages.filter(isFields)) {
    const blocks = blocksOf(message.content)
    const isCalled = ({ type, tool_use_id }: Fields) =>
      type !== 'tool_result' || blocksOf(reply?.content).some(({ id }) => id === tool_use_id)
    const isAnswered = (called: unknown) => blocks.some(({ tool_use_id }) => tool_use_id === called)
    whole.push(...unanswered(reply, isAnswered))
    if (whole.length === 0 && message.role === 'assistant') whole.push({ role: 'user', content: LOST })
    const kept = blocks.filter(isCalled)
    if (kept.length === blocks.length) whole.push(message)
    else if (kept.length > 0) whole.push({ ...message, content: kept })
    reply = message.role === 'assistant' ? message : undefined
  }
  return [...whole, ...unanswered(reply)]
}

const LOST = '(The beginning of this conversation is lost.)'
