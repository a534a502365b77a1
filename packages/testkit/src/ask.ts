// One search, and what the model gets back from it.
import type { Shelf } from '../../../test/doors.ts'
import type { Loose } from './talk.ts'

export type Answer = {
  readonly result: Loose
  /** The tools it loads by reference, in order. */
  readonly names: string[]
  /** Everything it says in words, in the result or beside it. */
  readonly said: string
}

export async function ask(shelf: Shelf, query: unknown, max_results?: unknown): Promise<Answer> {
  const input = max_results === undefined ? { query } : { query, max_results }
  return readAnswer(await shelf.answer({ id: 'toolu_ask', name: 'ToolSearch', input }))
}

export function readAnswer(result: Loose): Answer {
  const ofType = (type: string) => result.content.filter((block: Loose) => block.type === type)
  const texts = ofType('text').map(({ text }: Loose) => text)
  return {
    result,
    names: ofType('tool_reference').map(({ tool_name }: Loose) => tool_name),
    said: [...texts, ...(result.note === undefined ? [] : [result.note])].join('\n'),
  }
}
