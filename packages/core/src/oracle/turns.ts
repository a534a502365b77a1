// Groups messages into turns as the API does: adjacent messages of one role are one turn.
import { type Fields, fieldsOf, isFields, listOf } from '../lib/json.ts'

/** The role of a turn. */
export type TurnRole = 'user' | 'assistant' | 'system'

/** A block with its position: the index of its message in the request, and its own index there. */
export type Placed = {
  readonly message: number
  readonly index: number
  readonly role: TurnRole
  readonly block: Fields
}

/** Adjacent messages of one role. */
export type Turn = { readonly role: TurnRole; readonly message: number; readonly blocks: readonly Placed[] }

/** Groups messages into turns. */
export function turnsOf(messages: unknown): Turn[] {
  const turns: { role: TurnRole; message: number; blocks: Placed[] }[] = []
  for (const [message, value] of listOf(messages).entries()) {
    const fields = fieldsOf(value)
    if (isDirective(fields)) continue
    const role = roleOf(fields.role)
    const last = turns.at(-1)
    const turn = last?.role === role ? last : { role, message, blocks: [] }
    if (turn !== last) turns.push(turn)
    for (const [index, block] of blocksOf(fields.content).entries()) {
      turn.blocks.push({ message, index, role, block })
    }
  }
  return turns
}

/** Returns all blocks in order, except those of skipped messages. */
export function placedBlocks(messages: unknown, isSkipped: (message: Fields) => boolean): Placed[] {
  const placed: Placed[] = []
  const list = listOf(messages)
  for (let message = 0; message < list.length; message++) {
    const fields = fieldsOf(list[message])
    if (isSkipped(fields) || isDirective(fields)) continue
    const role = roleOf(fields.role)
    for (const [index, block] of blocksOf(fields.content).entries()) {
      placed.push({ message, index, role, block })
    }
  }
  return placed
}

/** Returns whether a system message only sets `output_config`; it is not shown to the model and may be anywhere. */
export function isDirective(message: Fields): boolean {
  const { role, content, output_config: config } = message
  const isEmpty = content === undefined || content === '' || (Array.isArray(content) && content.length === 0)
  return role === 'system' && isEmpty && isFields(config) && Object.keys(config).length > 0
}

/** Returns content as blocks; a string becomes one text block. */
export function blocksOf(content: unknown): readonly Fields[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return listOf(content).map(fieldsOf)
}

/** Returns the path of a block as in the API's error messages. */
export function pathOf(placed: { readonly message: number; readonly index: number }): string {
  return `messages.${placed.message}.content.${placed.index}`
}

function roleOf(role: unknown): TurnRole {
  return role === 'assistant' || role === 'system' ? role : 'user'
}
