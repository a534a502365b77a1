// A reply as it can stand in a history: whatever a model wrote, the API takes it back with the next message.
import { randomUUID } from 'node:crypto'
import type { Message } from '../core/index.ts'
import { type Fields, textOf } from '../core/oracle/json.ts'
import { blocksOf } from '../core/oracle/turns.ts'

const ID = /^[\w-]+$/
const LONGEST_NAME = 128

/** Calls get ids of their own and names that can be sent; nothing is left of a reply that only thought. */
export function sendable(reply: unknown, messages: readonly Message[]): Fields[] {
  const taken = new Set(messages.flatMap(({ content }) => blocksOf(content).map(({ id }) => id)))
  const blocks = blocksOf(reply).filter(isSomething)
  return blocks.every(isThinking)
    ? []
    : blocks.map((block) => (block.type === 'tool_use' ? callOf(block, taken) : block))
}

/** The API takes no text of nothing but space, not even its own. */
export function isSomething({ type, text }: Fields): boolean {
  return type !== 'text' || textOf(text).trim() !== ''
}

/** An id that stands in the history already would spoil every later request. */
function callOf(block: Fields, taken: Set<unknown>): Fields {
  const given = textOf(block.id)
  const id = ID.test(given) && !taken.has(given) ? given : `toolu_${randomUUID().replaceAll('-', '')}`
  taken.add(id)
  const name = textOf(block.name)
    .replace(/[^\w-]/g, '_')
    .slice(0, LONGEST_NAME)
  return { ...block, id, name: name || 'unnamed', input: wellFormed(block.input ?? {}) }
}

/** Half of a pair in a text is no Unicode, and a request that holds it is refused. */
function wellFormed(input: unknown): unknown {
  return JSON.parse(JSON.stringify(input), (_, value) =>
    typeof value === 'string' ? value.toWellFormed() : value,
  )
}

function isThinking({ type }: Fields): boolean {
  return type === 'thinking' || type === 'redacted_thinking'
}
