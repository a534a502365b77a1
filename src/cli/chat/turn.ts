// One turn as a person sees it: what was said, calls summed up, what is going on now (P).

import { kinds } from '../../agent/tools/index.ts'
import type { AgentEvent, Usage } from '../../agent/types.ts'
import type { Message, ToolUse } from '../../core/index.ts'
import { present, SEARCH_TOOL, type Shown } from '../../core/index.ts'

export type Turn = {
  /** Replies and results so far. */
  readonly messages: readonly Message[]
  /** What the model is saying now. */
  readonly speaking: string
  readonly running: readonly ToolUse[]
  readonly notices: readonly string[]
  readonly usage: Usage
  readonly began: number
}

const nothing: Usage = { input: 0, cached: 0, output: 0 }

export function newTurn(): Turn {
  return { messages: [], speaking: '', running: [], notices: [], usage: nothing, began: Date.now() }
}

export function follow(turn: Turn, event: AgentEvent): Turn {
  switch (event.type) {
    case 'text':
      return { ...turn, speaking: turn.speaking + event.text }
    case 'reply':
      return {
        ...turn,
        speaking: '',
        messages: [...turn.messages, { role: 'assistant', content: event.content }],
        usage: added(turn.usage, event.usage),
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
      return noticed({ ...turn, speaking: '' }, `${sentence(event.reason)} Trying again.`)
    case 'notice':
      return noticed(turn, event.text)
    case 'compacted':
      return noticed(turn, 'The older part of the conversation was summarised.')
    case 'end':
      return event.reason === 'stopped' ? noticed(turn, STOPPED) : noticed(turn, event.error)
    default:
      return turn
  }
}

const STOPPED = 'Stopped. The session goes on.'

/** The same reason many times over is told once. */
function noticed(turn: Turn, text: string | undefined): Turn {
  return text === undefined || turn.notices.includes(text)
    ? turn
    : { ...turn, notices: [...turn.notices, text] }
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}

function added(first: Usage, second: Usage): Usage {
  return {
    input: first.input + second.input,
    cached: first.cached + second.cached,
    output: first.output + second.output,
  }
}

/** The lines of a turn, finished or not. */
export type TurnLine = {
  readonly kind: 'said' | 'summary' | 'call' | 'failed' | 'notice' | 'spent'
  readonly text: string
}

export function turnLines(turn: Turn, isVerbose: boolean): TurnLine[] {
  return [
    ...conversationLines(turn.messages, isVerbose),
    ...(turn.speaking.trim() === '' ? [] : [{ kind: 'said', text: turn.speaking.trim() } as const]),
    ...turn.notices.map((text) => ({ kind: 'notice', text }) as const),
  ]
}

/** What it took, once it is over. */
export function spentLine({ began, usage }: Turn): TurnLine {
  const count = (tokens: number) => tokens.toLocaleString('en-US')
  const cached = usage.cached > 0 ? ` (${count(usage.cached)} cached)` : ''
  const seconds = ((Date.now() - began) / 1000).toFixed(1)
  const tokens = `${count(usage.input + usage.cached)} tokens in${cached}, ${count(usage.output)} out`
  return { kind: 'spent', text: usage.output === 0 ? `${seconds} s` : `${seconds} s · ${tokens}` }
}

/** What runs now, in a few words; a search for tools is nobody's business. */
export function runningText({ running }: Turn): string {
  const names = running.map(({ name }) => name).filter((name) => name !== SEARCH_TOOL)
  return names.length === 0 ? 'thinking' : `running ${[...new Set(names)].join(', ')}`
}

/** Replies and results as lines. */
export function conversationLines(messages: readonly Message[], isVerbose: boolean): TurnLine[] {
  const failures = failuresIn(messages)
  const shown = present(messages, { searchTool: SEARCH_TOOL, verbose: isVerbose, kinds })
  return shown.flatMap((one) => lineOf(one, failures))
}

function lineOf(shown: Shown, failures: Failures): TurnLine[] {
  if (shown.type === 'text')
    return shown.text.trim() === '' ? [] : [{ kind: 'said', text: shown.text.trim() }]
  if (shown.type === 'summary') {
    const failed = shown.calls.filter(({ id }) => failures.byId.has(id)).length
    return [{ kind: 'summary', text: failed === 0 ? shown.text : `${shown.text} (${failed} failed)` }]
  }
  const call = `${shown.name}(${brief(shown.input)})`
  const failure = failures.byCall.get(JSON.stringify([shown.name, shown.input]))
  const result =
    'result' in shown && shown.result !== undefined ? `\n${brief(textIn(shown.result), 400)}` : ''
  if (failure === undefined) return [{ kind: 'call', text: `● ${call}${result}` }]
  return [{ kind: 'failed', text: `✗ ${call}${result || `\n${brief(failure, 200)}`}` }]
}

/** What went wrong, by the id of a call, and by its name and input. */
type Failures = { readonly byId: ReadonlyMap<unknown, string>; readonly byCall: ReadonlyMap<string, string> }

function failuresIn(messages: readonly Message[]): Failures {
  const blocks = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []))
  const byId = new Map(
    blocks
      .filter(({ is_error }) => is_error === true)
      .map(({ tool_use_id, content }) => [tool_use_id, textIn(content)]),
  )
  const byCall = new Map(
    blocks
      .filter(({ type, id }) => type === 'tool_use' && byId.has(id))
      .map(({ name, input, id }) => [JSON.stringify([name, input]), byId.get(id) ?? '']),
  )
  return { byId, byCall }
}

/** The texts of a result; what is no text is named. */
function textIn(content: unknown): string {
  if (!Array.isArray(content)) return typeof content === 'string' ? content : JSON.stringify(content ?? '')
  return content
    .map(({ type, text, tool_name }) => (type === 'text' ? String(text) : String(tool_name ?? `(${type})`)))
    .join('\n')
}

function brief(value: unknown, most = 70): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? {})
  const inner = /^\{.*\}$/s.test(text) ? text.slice(1, -1) : text
  return inner.length > most ? `${inner.slice(0, most - 1)}…` : inner
}
