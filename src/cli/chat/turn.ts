// One turn as a person sees it: what was said, calls summed up, what is going on now (P).

import { kinds } from '../../agent/tools/index.ts'
import type { AgentEvent } from '../../agent/types.ts'
import type { Message, ToolUse } from '../../core/index.ts'
import { present, type Shown } from '../../core/index.ts'

export type Turn = {
  /** Replies and results so far. */
  readonly messages: readonly Message[]
  /** What the model is saying now. */
  readonly speaking: string
  readonly running: readonly ToolUse[]
  readonly notices: readonly string[]
}

export const newTurn: Turn = { messages: [], speaking: '', running: [], notices: [] }

export function follow(turn: Turn, event: AgentEvent): Turn {
  switch (event.type) {
    case 'text':
      return { ...turn, speaking: turn.speaking + event.text }
    case 'reply':
      return {
        ...turn,
        speaking: '',
        messages: [...turn.messages, { role: 'assistant', content: event.content }],
      }
    case 'call':
      return { ...turn, running: [...turn.running, event.call] }
    case 'result':
      return {
        ...turn,
        running: turn.running.filter(({ id }) => id !== event.call.id),
        messages: [...turn.messages, { role: 'user', content: [event.result] }],
      }
    case 'retry':
      return { ...turn, speaking: '', notices: [...turn.notices, `${event.reason} Trying again.`] }
    case 'notice':
      return { ...turn, notices: [...turn.notices, event.text] }
    case 'compacted':
      return { ...turn, notices: [...turn.notices, 'The older part of the conversation was summarised.'] }
    case 'end':
      return event.error ? { ...turn, notices: [...turn.notices, event.error] } : turn
    default:
      return turn
  }
}

/** The lines of a turn, finished or not. */
export type TurnLine = { readonly kind: 'said' | 'summary' | 'call' | 'notice'; readonly text: string }

export function turnLines(turn: Turn, isVerbose: boolean): TurnLine[] {
  const failed = failedCalls(turn.messages)
  const shown = present(turn.messages, { searchTool: 'ToolSearch', verbose: isVerbose, kinds })
  return [
    ...shown.flatMap((one) => lineOf(one, failed)),
    ...(turn.speaking.trim() === '' ? [] : [{ kind: 'said', text: turn.speaking.trim() } as const]),
    ...turn.notices.map((text) => ({ kind: 'notice', text }) as const),
  ]
}

/** What runs now, in a few words; a search for tools is nobody's business. */
export function runningText({ running }: Turn): string {
  const names = running.map(({ name }) => name).filter((name) => name !== 'ToolSearch')
  return names.length === 0 ? 'thinking' : `running ${[...new Set(names)].join(', ')}`
}

function lineOf(shown: Shown, failed: ReadonlySet<string>): TurnLine[] {
  if (shown.type === 'text')
    return shown.text.trim() === '' ? [] : [{ kind: 'said', text: shown.text.trim() }]
  if (shown.type === 'summary') return [{ kind: 'summary', text: shown.text }]
  const call = `${shown.name}(${brief(shown.input)})`
  const isFailed = failed.has(JSON.stringify([shown.name, shown.input]))
  const result = 'result' in shown && shown.result !== undefined ? `\n${brief(shown.result, 400)}` : ''
  return [{ kind: 'call', text: `${isFailed ? '✗' : '●'} ${call}${result}` }]
}

function failedCalls(messages: readonly Message[]): ReadonlySet<string> {
  const blocks = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []))
  const errors = new Set(
    blocks.filter(({ is_error }) => is_error === true).map(({ tool_use_id }) => tool_use_id),
  )
  return new Set(
    blocks
      .filter(({ type, id }) => type === 'tool_use' && errors.has(id))
      .map(({ name, input }) => JSON.stringify([name, input])),
  )
}

function brief(value: unknown, most = 70): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? {})
  const inner = /^\{.*\}$/s.test(text) ? text.slice(1, -1) : text
  return inner.length > most ? `${inner.slice(0, most - 1)}…` : inner
}
