// Remembers replies whose structure a client's API cannot express: Chat Completions joins all text and drops signed
// thinking. When the client sends such a reply back, the model sees it exactly as it wrote it. If a reply is forgotten,
// for example after a restart, the model sees what the client sent. The same for thinking that clients did not ask for, since
// many models refuse a history whose calls have lost it, and for the items of Responses replies that requests may refer to.
import { hash } from 'node:crypto'
import {
  type BlockInMaking,
  blocksOf,
  createCollector,
  type Fields,
  fieldsOf,
  finishBlock,
  grow,
  oncePerFrozen,
  textOf,
  toJson,
} from '@toolshelf/core/internal'
import { exactJson } from './json/exact.ts'
import { createSizedCache } from './recent.ts'
import { withMessages } from './shelve/carry.ts'
import type { MessagesRequest, StreamEvent } from './types.ts'
import { isKeptThought } from './upstream/thoughts.ts'

export function createReplyMemory(maxCharacters?: number) {
  const known = createSizedCache<Fields>(maxCharacters)

  function restored(message: Fields, owner: string): Fields {
    if (message.role !== 'assistant') return message
    return known.get(owner + digestOf(message)) ?? message
  }

  return {
    /** Replaces the replies that the client sent back by the remembered ones. */
    restore: (request: MessagesRequest, owner: string) =>
      known.isEmpty() ? request : withMessages(request, (message) => restored(message, owner)),
    /** Passes a reply on and remembers it when it is complete. */
    async *remember(events: AsyncIterable<StreamEvent>, owner: string) {
      const collector = createCollector(exactJson)
      for await (const event of events) {
        collector.add(event)
        if (event.type === 'message_stop') {
          const message = Object.freeze({ role: 'assistant', content: restorable(collector.message()) })
          if (!isPlain(message.content)) known.set(owner + digestOf(message), message, toJson(message).length)
        }
        yield event
      }
    },
  }
}

/** What is restored of a reply. Without calls it has no id that tells it from others, and its thinking is not needed. */
function restorable({ content }: Fields): Fields[] {
  const blocks = blocksOf(content).map(({ caller: _, refusal: __, ...block }) => block)
  const hasCall = blocks.some(({ type }) => type === 'tool_use')
  return hasCall ? blocks : blocks.filter(({ type }) => type === 'text')
}

/** Whether a reply has the structure that every API expresses: one text at most, then calls. */
function isPlain(content: readonly Fields[]): boolean {
  return content.every(({ type }, index) => type === 'tool_use' || (type === 'text' && index === 0))
}

/** Identifies a reply by its text and its calls with their input: some servers count their ids anew in every reply. */
const digestOf = oncePerFrozen(({ content }: Fields): string => {
  const blocks = blocksOf(content)
  const calls = blocks
    .filter(({ type }) => type === 'tool_use')
    .map(({ id, name, input }) => [id, name, input])
  const said = blocks.map(({ type, text }) => (type === 'text' ? textOf(text) : '')).join('')
  return hash('sha256', toJson([said, calls]), 'base64')
})

/** A thinking block and its index in the original reply. */
type Hidden = { readonly at: number; readonly block: Fields }

/** Creates a memory of hidden thinking with this limit. */
export function createHiddenThoughts(maxCharacters?: number) {
  const memory = createSizedCache<readonly Hidden[]>(maxCharacters)

  function restored(message: Fields, owner: string): Fields {
    if (message.role !== 'assistant') return message
    const blocks = [...blocksOf(message.content)]
    const call = blocks.find(({ type }) => type === 'tool_use')
    const hidden = call && memory.get(keyOf(owner, call))
    if (!hidden || blocks.some(isKeptThought)) return message
    for (const { at, block } of hidden) blocks.splice(at, 0, block)
    return { ...message, content: blocks }
  }

  return {
    /** Puts hidden thinking blocks back into the request. */
    restore: (request: MessagesRequest, owner: string) =>
      memory.isEmpty() ? request : withMessages(request, (message) => restored(message, owner)),
    /** Removes thinking from a reply and remembers it. */
    hide: (events: AsyncIterable<StreamEvent>, owner: string) =>
      withoutThoughts(events, (call, hidden) => memory.set(keyOf(owner, call), hidden, sizeOf(hidden))),
  }
}

/** Call ids are unique where thinking is kept, so a reply's first call id identifies the reply. */
function keyOf(owner: string, { id }: Fields): string {
  return `${owner} ${textOf(id)}`
}

function sizeOf(hidden: readonly Hidden[]): number {
  return hidden.reduce(
    (sum, { block }) => sum + textOf(block.thinking).length + textOf(block.signature).length,
    0,
  )
}

/** Buffers each thinking block until it is complete: only then is it known whether upstreams need it back. */
async function* withoutThoughts(
  events: AsyncIterable<StreamEvent>,
  onHidden: (call: Fields, hidden: readonly Hidden[]) => void,
): AsyncGenerator<StreamEvent> {
  const hidden: Hidden[] = []
  let held: { readonly events: StreamEvent[]; readonly making: BlockInMaking } | undefined
  let call: Fields | undefined
  const shown = (event: StreamEvent): StreamEvent =>
    hidden.length === 0 ? event : { ...event, index: Number(event.index) - hidden.length }
  for await (const event of events) {
    const block = fieldsOf(event.content_block)
    if (event.type === 'content_block_start' && block.type === 'thinking')
      held = { events: [], making: { block, json: '' } }
    if (event.type === 'content_block_start' && block.type === 'tool_use') call ??= block
    if (event.type === 'message_delta' && call && hidden.length > 0) onHidden(call, hidden)
    if (!event.type.startsWith('content_block_')) {
      yield event
      continue
    }
    if (!held) {
      yield shown(event)
      continue
    }
    held.events.push(event)
    grow(held.making, fieldsOf(event.delta))
    if (event.type !== 'content_block_stop') continue
    const thought = finishBlock(held.making)
    if (isKeptThought(thought)) hidden.push({ at: Number(event.index), block: thought })
    else for (const one of held.events) yield shown(one)
    held = undefined
  }
}

/** The items that one owner of a key may refer to. */
export type StoredItems = ReturnType<ReturnType<typeof createItemMemory>>

/** Returns a function that gives each owner a view of one bounded memory; nobody finds the items of others. */
export function createItemMemory(maxCharacters?: number) {
  const known = createSizedCache<Fields>(maxCharacters)
  return (owner: string) => ({
    get: (id: string) => known.get(`${owner} ${id}`),
    keep(items: readonly Fields[]) {
      for (const item of items) {
        const id = textOf(item.id)
        if (id !== '') known.set(`${owner} ${id}`, Object.freeze({ ...item }), toJson(item).length)
      }
    },
  })
}
