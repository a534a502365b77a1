// Groups messages into turns as the API does: adjacent messages of one role are one turn.
import { blocksOf, fieldsOf, isDirective, listOf, type Placed, type TurnRole } from '@toolshelf/core/internal'

export type Turn = { readonly role: TurnRole; readonly message: number; readonly blocks: readonly Placed[] }

export function turnsOf(messages: unknown): Turn[] {
  const turns: { role: TurnRole; message: number; blocks: Placed[] }[] = []
  for (const [message, value] of listOf(messages).entries()) {
    const fields = fieldsOf(value)
    if (isDirective(fields)) continue
    const role = fields.role as TurnRole
    const last = turns.at(-1)
    const turn = last?.role === role ? last : { role, message, blocks: [] }
    if (turn !== last) turns.push(turn)
    for (const [index, block] of blocksOf(fields.content).entries()) {
      turn.blocks.push({ message, index, role, block })
    }
  }
  return turns
}
