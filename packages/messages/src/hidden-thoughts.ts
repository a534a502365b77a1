// Hides thinking from clients that did not ask for it and restores it in their next request: many models refuse a
// history whose calls have lost their reasoning. If a block is no longer remembered, the upstream adapter substitutes it.
import {
  type BlockInMaking,
  blocksOf,
  type Fields,
  fieldsOf,
  finishBlock,
  grow,
  textOf,
} from '@toolshelf/core/internal'
import { createSizedCache } from './recent.ts'
import type { MessagesRequest, StreamEvent } from './types.ts'
import { isKeptThought } from './upstream/thoughts.ts'

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
    restore(request: MessagesRequest, owner: string) {
      if (memory.isEmpty()) return request
      const messages = request.messages.map((message) => restored(message, owner))
      const isSame = messages.every((message, index) => message === request.messages[index])
      return isSame ? request : { ...request, messages }
    },
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
