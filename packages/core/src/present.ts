// Lists what a person sees of a conversation; searches for tools are hidden (P).
// Implements P1, P2.
import { messageBlocks } from './notes.ts'
import type { Block, Message, MessageLike } from './types.ts'

/** One line of a conversation as a person sees it. */
type PresentedItem =
  | { readonly type: 'text'; readonly text: string }
  /** Consecutive calls of collapsible kinds: "Read 3 files, searched 2 files". */
  | { readonly type: 'summary'; readonly text: string; readonly calls: readonly Block[] }
  /** `result`: what the call was answered with; only in verbose mode. */
  | { readonly type: 'call'; readonly name: string; readonly input: unknown; readonly result?: unknown }

/** Counts calls of one kind in words, e.g. `(n) => `read ${n} files``. */
export type CallKind = (count: number) => string

/** Options of `presentMessages`. */
export type PresentOptions = {
  /** The name of the search tool, whose calls are left out. */
  readonly searchTool: string
  /** Shows everything in full, searches included (P2). Default: false. */
  readonly verbose?: boolean
  /** The collapsible tools by name; the others are shown one by one. */
  readonly kinds?: { readonly [name: string]: CallKind }
}

export const describeReads: CallKind = (count) => `read ${count} ${count === 1 ? 'file' : 'files'}`
export const describeSearches: CallKind = (count) => `searched ${count} ${count === 1 ? 'file' : 'files'}`

/**
 * Lists what a person should see of a conversation: text and calls, without searches for tools.
 *
 * @example
 * presentMessages(history, { searchTool: shelf.searchTool, kinds: { Read: (count) => `read ${count} files` } })
 */
export function presentMessages(history: readonly MessageLike[], options: PresentOptions): PresentedItem[] {
  const messages = history as readonly Message[]
  const shown: PresentedItem[] = []
  const results = resultsOf(messages)
  let row: Block[] = []
  const close = () => {
    const text = summaryOf(row, options)
    if (text) shown.push({ type: 'summary', text, calls: row })
    row = []
  }
  for (const block of messages.filter((message) => message?.role === 'assistant').flatMap(messageBlocks)) {
    if (block.type === 'text') {
      close()
      shown.push({ type: 'text', text: String(block.text) })
    } else if (isCall(block)) {
      const name = String(block.name)
      if (!options.verbose && (isSearch(name, options) || kindOf(name, options))) row.push(block)
      else {
        close()
        const result = options.verbose ? { result: results.get(block.id) } : {}
        shown.push({ type: 'call', name, input: block.input, ...result })
      }
    }
  }
  close()
  return shown
}

/** Lists the kinds in the order of their first call. A search does not end the row and is not counted (P1). */
function summaryOf(row: readonly Block[], options: PresentOptions): string {
  const counts = new Map<CallKind, number>()
  for (const { name } of row) {
    const kind = kindOf(String(name), options)
    if (kind) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  const text = [...counts].map(([kind, count]) => kind(count)).join(', ')
  return text === '' ? '' : text[0]?.toUpperCase() + text.slice(1)
}

function resultsOf(messages: readonly Message[]): Map<unknown, unknown> {
  const answers = messages.flatMap(messageBlocks).filter((block) => 'tool_use_id' in block)
  return new Map(answers.map(({ tool_use_id, content }) => [tool_use_id, content]))
}

function isSearch(name: string, { searchTool }: PresentOptions): boolean {
  return name === searchTool || name.startsWith('tool_search_tool_')
}

function kindOf(name: string, { kinds }: PresentOptions): CallKind | undefined {
  return kinds && Object.hasOwn(kinds, name) ? kinds[name] : undefined
}

function isCall({ type }: Block): boolean {
  return type === 'tool_use' || type === 'server_tool_use'
}
