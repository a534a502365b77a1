// One turn as a person sees it: what was said, calls summed up, what is going on now (P).

import { kinds } from '../../agent/tools/index.ts'
import type { AgentEvent, Usage } from '../../agent/types.ts'
import type { Message, ToolUse } from '../../core/index.ts'
import { present, SEARCH_TOOL, type Shown } from '../../core/index.ts'
import type { Item } from './items.ts'

export type Turn = {
  /** Replies and results so far. */
  readonly messages: readonly Message[]
  /** What the model says and thinks now. */
  readonly speaking: readonly Item[]
  readonly running: readonly ToolUse[]
  readonly asides: readonly Aside[]
  /** When the model is asked again, after a failure. */
  readonly againAt: number | undefined
  readonly usage: Usage
  /** Moved on by the time that questions took. */
  readonly began: number
  /** Since when a question stands. */
  readonly askedAt: number | undefined
}

/** Something that is not of the model, and behind how many of the messages it stands. */
type Aside = { readonly item: Item; readonly at: number }

const nothing: Usage = { input: 0, cached: 0, output: 0 }

export function newTurn(): Turn {
  return {
    messages: [],
    speaking: [],
    running: [],
    asides: [],
    againAt: undefined,
    usage: nothing,
    began: Date.now(),
    askedAt: undefined,
  }
}

export function follow(turn: Turn, event: AgentEvent): Turn {
  switch (event.type) {
    case 'text':
      return spoken(turn, 'said', event.text)
    case 'thinking':
      return spoken(turn, 'thought', event.text)
    case 'request':
      return { ...turn, againAt: undefined }
    case 'reply':
      return {
        ...turn,
        speaking: [],
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
      return noticed(
        { ...turn, speaking: [], againAt: Date.now() + event.milliseconds },
        `${sentence(event.reason)} Trying again.`,
      )
    case 'notice':
      return noticed(turn, event.text)
    case 'compacted':
      return noticed(turn, 'The older part of the conversation was summarised.')
    case 'end':
      return event.reason === 'stopped' ? stopped(turn) : noticed(turn, event.error)
    default:
      return turn
  }
}

function spoken(turn: Turn, kind: 'said' | 'thought', text: string): Turn {
  const last = turn.speaking.at(-1)
  const isSame = last?.kind === kind
  const before = isSame ? turn.speaking.slice(0, -1) : turn.speaking
  return { ...turn, speaking: [...before, { kind, text: (isSame ? last.text : '') + text }] }
}

export function stopped(turn: Turn): Turn {
  return noticed(turn, 'Stopped. The session goes on.')
}

function noticed(turn: Turn, text: string | undefined): Turn {
  return text === undefined ? turn : withAside(turn, { kind: 'notice', text }, true)
}

/** Behind what is in sight; a notice that stands there already is not said again. */
export function withAside(turn: Turn, item: Item, isVerbose: boolean): Turn {
  const isSpeaking = turn.speaking.some(({ kind }) => kind === 'said' || isVerbose)
  const at = turn.messages.length + (isSpeaking ? 1 : 0)
  const isThere = ({ item: other, at: place }: Aside) =>
    place === at && other.kind === item.kind && other.text === item.text
  if (item.kind === 'notice' && turn.asides.some(isThere)) return turn
  return { ...turn, asides: [...turn.asides, { item, at }] }
}

/** The clock stands still while a person is asked. */
export function timed(turn: Turn, isAsking: boolean): Turn {
  const { began, askedAt } = turn
  if (isAsking) return { ...turn, askedAt: askedAt ?? Date.now() }
  return askedAt === undefined ? turn : { ...turn, began: began + Date.now() - askedAt, askedAt: undefined }
}

/** Milliseconds that it took so far. */
export function spentBy({ began, askedAt }: Turn): number {
  return (askedAt ?? Date.now()) - began
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

/** A turn, finished or not, each thing where it happened. */
export function turnItems(turn: Turn, isVerbose: boolean): Item[] {
  const { messages, asides } = turn
  const speaking = turn.speaking
    .filter(({ kind, text }) => (kind === 'said' || isVerbose) && text.trim() !== '')
    .map(({ kind, text }) => ({ kind, text: text.trim(), isOpen: true }))
  const between = (from: number, to: number) => [
    ...conversationItems(messages.slice(from, to), isVerbose, messages),
    ...(from <= messages.length && to > messages.length ? speaking : []),
  ]
  const items: Item[] = []
  let from = 0
  for (const { item, at } of asides.toSorted((first, second) => first.at - second.at)) {
    items.push(...between(from, at), item)
    from = at
  }
  return [...items, ...between(from, Number.POSITIVE_INFINITY)]
}

/** What it took, once it is over. */
export function spentItem(turn: Turn): Item {
  const { usage } = turn
  const count = (tokens: number) => tokens.toLocaleString('en-US')
  const cached = usage.cached > 0 ? ` (${count(usage.cached)} cached)` : ''
  const seconds = (spentBy(turn) / 1000).toFixed(1)
  const tokens = `${count(usage.input + usage.cached)} tokens in${cached}, ${count(usage.output)} out`
  return { kind: 'spent', text: usage.output === 0 ? `${seconds} s` : `${seconds} s · ${tokens}` }
}

/** What goes on now, in a few words; a search for tools is nobody's business. */
export function runningText({ running, againAt }: Turn): string {
  if (againAt !== undefined)
    return `trying again in ${Math.max(0, Math.ceil((againAt - Date.now()) / 1000))} s`
  const names = running.map(({ name }) => name).filter((name) => name !== SEARCH_TOOL)
  return names.length === 0 ? 'thinking' : `running ${[...new Set(names)].join(', ')}`
}

/** Replies and results as items; what calls came to may stand in later messages, which `all` has too. */
export function conversationItems(
  messages: readonly Message[],
  isVerbose: boolean,
  all: readonly Message[] = messages,
): Item[] {
  const failures = failuresIn(all)
  const results = all.filter(({ role }) => role === 'user')
  const shown = (some: readonly Message[]) =>
    present([...some, ...results], { searchTool: SEARCH_TOOL, verbose: isVerbose, kinds })
  if (!isVerbose) return shown(messages).flatMap((one) => itemOf(one, failures))
  return messages
    .filter(({ role }) => role === 'assistant')
    .flatMap(({ content }) => (Array.isArray(content) ? content : [{ type: 'text', text: content }]))
    .flatMap((block) =>
      block.type === 'thinking'
        ? thoughtOf(block)
        : shown([{ role: 'assistant', content: [block] }]).flatMap((one) => itemOf(one, failures)),
    )
}

function thoughtOf({ thinking }: Message): Item[] {
  const text = typeof thinking === 'string' ? thinking.trim() : ''
  return text === '' ? [] : [{ kind: 'thought', text }]
}

function itemOf(shown: Shown, failures: Failures): Item[] {
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
