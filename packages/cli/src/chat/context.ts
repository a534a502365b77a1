// Shows what fills the context window of a request: a row per part, and a bar. Deferred tools are listed separately.
import type { Agent } from '@toolshelf/agent'
import { estimateTokens, type Shelf } from '@toolshelf/core'
import {
  allDefinitionTokens,
  cut,
  type MessageLike,
  renderRequest,
  type ShelvedResult,
  tokensFor,
} from '@toolshelf/core/internal'

/** A row of the report. */
export type ContextPart = { readonly label: string; readonly tokens: number; readonly mark: string }

/** What fills the context window, in estimated tokens. */
export type ContextReport = {
  readonly parts: readonly ContextPart[]
  readonly window: number
  readonly deferred: {
    readonly tools: number
    /** How many of these tools are Toolshelf's own, not a server's. */
    readonly builtIn: number
    readonly tokens: number
  }
  /** Long results on the shelf, the newest last. */
  readonly results: readonly ShelvedResult[]
}

const LABELS = [
  { label: 'system prompt', mark: '▓', kinds: ['system'] },
  { label: 'tools always there', mark: '█', kinds: ['tools'] },
  { label: 'tools loaded by search', mark: '▆', kinds: ['functions'] },
  { label: 'conversation', mark: '▒', kinds: ['user', 'assistant', 'thinking', 'removal'] },
] as const

/** Prepares the request that would be sent now, without changing the conversation. */
export async function nextRequest({ shelf, model, messages }: Agent): Promise<object> {
  const beside = shelf.fork({ isSubAgent: false, state: shelf.state() })
  const { request } = await beside.prepare({ model, messages: messages as readonly MessageLike[] })
  return request
}

/** Returns the conversation's share of a request, with the tools that it loaded. */
export function conversationTokens(request: object): number {
  const counted: readonly string[] = LABELS.slice(2).flatMap(({ kinds }) => kinds)
  const texts = renderRequest(request)
    .filter(({ kind }) => counted.includes(kind))
    .map(({ text }) => text)
  return estimateTokens(texts.join(''))
}

/** Measures a request; all tokens are estimates by length. */
export function contextReport(
  request: object,
  shelf: Shelf,
  loaded: readonly string[],
  window: number,
): ContextReport {
  const segments = renderRequest(request)
  const isKnown = (kinds: readonly string[]) =>
    kinds[0] !== 'system' || segments.some(({ kind }) => kind === 'system')
  const parts = LABELS.filter(({ kinds }) => isKnown(kinds)).map(({ label, mark, kinds }) => ({
    label,
    mark,
    tokens: estimateTokens(
      segments
        .filter(({ kind }) => (kinds as readonly string[]).includes(kind))
        .map(({ text }) => text)
        .join(''),
    ),
  }))
  const hidden = shelf.partition().deferred.filter(({ name }) => !loaded.includes(name))
  const tokens = allDefinitionTokens(hidden)
  const builtIn = hidden.filter(({ server }) => server === undefined).length
  return { parts, window, deferred: { tools: hidden.length, builtIn, tokens }, results: shelf.results() }
}

const WIDTH = 48

/** Renders the report; `about` says which request it describes. */
export function contextLines({ parts, window, deferred, results }: ContextReport, about: string): string[] {
  const used = parts.reduce((sum, { tokens }) => sum + tokens, 0)
  const free = Math.max(0, window - used)
  const cells = parts.map(({ mark, tokens }) => mark.repeat(Math.ceil((WIDTH * tokens) / window))).join('')
  const count = (tokens: number) => tokens.toLocaleString('en-US').padStart(9)
  const share = (tokens: number) => `${((100 * tokens) / window).toFixed(1)} %`.padStart(7)
  return [
    `${share(used).trim()} of ${window.toLocaleString('en-US')} tokens, ${about}:`,
    cells.slice(0, WIDTH).padEnd(WIDTH, '░'),
    ...parts.map(({ label, mark, tokens }) => `${mark} ${label.padEnd(24)}${count(tokens)} ${share(tokens)}`),
    `░ ${'free'.padEnd(24)}${count(free)} ${share(free)}`,
    `  ${'deferred, not in it'.padEnd(24)}${count(deferred.tokens)}         ${deferred.tools} tools on the shelf${deferred.builtIn > 0 ? `, ${deferred.builtIn} of them built in` : ''}`,
    ...(results.length === 0 ? [] : resultLines(results, count)),
  ]
}

const MAX_NAMED = 5

/** The sum of the results on the shelf, and the newest by tool, kind and size. */
function resultLines(results: readonly ShelvedResult[], count: (tokens: number) => string): string[] {
  const all = tokensFor(results.reduce((sum, { size }) => sum + size, 0))
  const newest = results.slice(-MAX_NAMED).reverse()
  const left = results.length - newest.length
  return [
    `  ${'results, not in it'.padEnd(24)}${count(all)}         ${results.length} on the shelf`,
    ...newest.map(
      ({ tool, kind, size }) =>
        `    ${cut(tool, 40)}: ${kind}, about ${tokensFor(size).toLocaleString('en-US')} tokens`,
    ),
    ...(left > 0 ? [`    and ${left} older`] : []),
  ]
}
