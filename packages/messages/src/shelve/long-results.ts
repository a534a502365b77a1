// Replaces long tool results in a client's history by previews, and reads them for the model. The client sends its whole
// history with each request, so nothing is stored: what replaces a result depends on its text alone, in every
// process, and only the conversation that contains a result can read it.
import type { TraceListener } from '@toolshelf/core'
import {
  blocksOf,
  type Fields,
  oncePerFrozen,
  type Pause,
  READ_TOOL,
  readResultTool,
  readShelved,
  replacementFor,
  textOf,
} from '@toolshelf/core/internal'
import { digestOf } from '@toolshelf/core/internal/node'

export type LongResults = ReturnType<typeof createLongResults>

/** A result longer than the budget. */
type LongResult = { readonly block: Fields; readonly text: string; readonly id: string }

/** Creates the replacement; `budget` is the number of characters up to which a result stays whole. */
export function createLongResults(budget: number) {
  const longIn = oncePerFrozen((message: Fields): readonly LongResult[] =>
    message.role !== 'user' ? [] : blocksOf(message.content).flatMap((block) => longResult(block, budget)),
  )
  const replaced = oncePerFrozen((message: Fields): Fields => {
    const long = new Map(longIn(message).map((result) => [result.block, result]))
    if (long.size === 0) return message
    const content = blocksOf(message.content).map((block) => {
      const result = long.get(block)
      return result ? withPreview(result, budget) : block
    })
    return Object.freeze({ ...message, content })
  })
  return {
    /** The reading tool, for the end of the client's own tools; always there, so that it never changes the prefix. */
    tool: { name: READ_TOOL, description: readResultTool.description, input_schema: readResultTool.schema },
    /** The messages with previews in place of long results; the same objects for messages without any. */
    replaceIn: (messages: readonly Fields[]) => messages.map(replaced),
    /** Reports the long results of the newest message, as every request contains the older ones again. */
    report(messages: readonly Fields[], trace: TraceListener | undefined) {
      const newest = messages.at(-1)
      if (!trace || !newest) return
      for (const { block, text, id } of longIn(newest)) {
        const { sizes } = replacementFor(id, { text, budget })
        const callId = textOf(block.tool_use_id)
        trace({ type: 'shelved', id: callId, name: nameOfCall(messages, callId), ...sizes })
      }
    },
    /** Answers a call of the reading tool from the client's own messages: texts, ours first. */
    async read(messages: readonly Fields[], input: unknown, pause?: Pause) {
      const find = (wanted: string) => messages.flatMap(longIn).find(({ id }) => id === wanted)?.text
      return (await readShelved(find, budget, input, pause)).texts
    },
  }
}

function longResult(block: Fields, budget: number): LongResult[] {
  if (block.type !== 'tool_result' || block.is_error === true) return []
  const texts = blocksOf(block.content).filter(isText)
  const length = texts.reduce((sum, { text }) => sum + textOf(text).length, 0)
  if (length <= budget) return []
  const text = texts.map((one) => textOf(one.text)).join('\n')
  return [{ block, text, id: digestOf(text) }]
}

function withPreview({ block, text, id }: LongResult, budget: number): Fields {
  const others = blocksOf(block.content).filter((one) => !isText(one))
  const shown = replacementFor(id, { text, budget }).texts.map((written) => ({ type: 'text', text: written }))
  return { ...block, content: [...shown, ...others] }
}

function isText({ type }: Fields): boolean {
  return type === 'text'
}

function nameOfCall(messages: readonly Fields[], id: string): string {
  const calls = blocksOf(messages.at(-2)?.content).filter(
    (block) => block.type === 'tool_use' && block.id === id,
  )
  return textOf(calls[0]?.name)
}
