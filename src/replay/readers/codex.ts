// Reads Codex's rollouts: `{timestamp, type, payload}` per line; older ones have the items of the Responses API alone.
import type { BilledTokens } from '../../core/figures/index.ts'
import { SEARCH_TOOL } from '../../core/index.ts'
import { type Fields, fieldsOf, isFields, listOf, textOf, toJson } from '../../lib/index.ts'
import { type Recorder, readCall } from '../recorder.ts'
import { openaiUsage } from './openai-usage.ts'

const MAIN = ''

const WRAPPED = new Set(['session_meta', 'response_item', 'compacted', 'turn_context', 'event_msg'])

/** Returns whether a line is one of a rollout. */
export function isCodexLine(line: Fields): boolean {
  const { type, payload, role, content } = line
  if (WRAPPED.has(textOf(type))) return isFields(payload)
  // A reply of the Messages API has the same type, and more fields.
  const isItem =
    type === 'message' && typeof role === 'string' && Array.isArray(content) && !('usage' in line)
  return isItem || ITEMS.has(textOf(type))
}

/** Items that the model wrote, apart from messages. */
const WRITTEN = new Set([
  ...['reasoning', 'function_call', 'custom_tool_call', 'local_shell_call', 'web_search_call'],
  ...['tool_search_call', 'image_generation_call'],
])
const ITEMS = new Set([...WRITTEN, 'function_call_output', 'custom_tool_call_output'])

/** Returns a function that reads lines. */
export function createCodexReader(recorder: Recorder): (line: Fields) => void {
  let model = ''
  /** Counts samplings. One reply is all that the model writes until it gets new input or its usage is reported. */
  let sampling = 0
  let isOpen = false
  let lastTotal = ''
  const searches = new Set<unknown>()

  function follow(item: Fields): void {
    const isWritten = WRITTEN.has(textOf(item.type)) || item.role === 'assistant'
    const call = callIn(item)
    if (call?.query !== undefined) searches.add(item.call_id)
    const isSearch = call?.query !== undefined || (!isWritten && searches.delete(item.call_id))
    const characters = isSearch ? 0 : sizeOf(item)
    if (!isWritten) recorder.add(MAIN, characters)
    else {
      if (!isOpen) sampling++
      recorder.reply(MAIN, {
        id: String(sampling),
        model,
        calls: call && call.query === undefined ? [call.name] : [],
        queries: call?.query === undefined ? [] : [call.query],
        characters,
      })
    }
    isOpen = isWritten
  }

  /** Some versions write each count twice. */
  function count({ total_token_usage: total, last_token_usage: last }: Fields): void {
    const usage = usageOf(last)
    if (!usage || toJson(total) === lastTotal) return
    lastTotal = toJson(total)
    isOpen = false
    recorder.setUsage(MAIN, usage)
  }

  return (line) => {
    const payload = fieldsOf(line.payload)
    switch (line.type) {
      case 'turn_context':
        model = textOf(payload.model) || model
        return
      case 'session_meta':
        return recorder.add(MAIN, sizeOf(payload.base_instructions ?? payload.instructions ?? ''))
      case 'compacted':
        isOpen = false
        return recorder.compact(MAIN, sizeOf(payload.replacement_history ?? payload.message))
      case 'event_msg':
        return payload.type === 'token_count' ? count(fieldsOf(payload.info)) : undefined
      case 'response_item':
        return follow(payload)
      default:
        return follow(line)
    }
  }
}

/** Returns the called tool; a tool of an MCP server may have the server in a field of its own. */
function callIn(item: Fields): { name: string; query?: string } | undefined {
  const { type, name, namespace, arguments: given } = item
  if (type === 'tool_search_call') return { name: SEARCH_TOOL, query: textOf(fieldsOf(parsed(given)).query) }
  if (type === 'local_shell_call') return { name: 'shell' }
  if (type !== 'function_call' && type !== 'custom_tool_call') return undefined
  const server = textOf(namespace)
  const full = server === '' ? textOf(name) : `${server.replace(/_+$/, '')}__${textOf(name)}`
  return readCall(full, parsed(given))
}

function parsed(json: unknown): unknown {
  if (typeof json !== 'string') return json
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

/** Returns the characters of an item's texts; encrypted reasoning and images count as none. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + sizeOf(item), 0)
  const { text, content, output, arguments: given, input, summary, message } = fieldsOf(value)
  return [text, content, output, given, input, summary, message]
    .map((part) => (isFields(part) && !Array.isArray(part) ? toJson(part).length : sizeOf(listOrText(part))))
    .reduce((sum, size) => sum + size, 0)
}

function listOrText(value: unknown): unknown {
  return typeof value === 'string' ? value : listOf(value)
}

function usageOf(usage: unknown): BilledTokens | undefined {
  return isFields(usage) ? openaiUsage(usage) : undefined
}
