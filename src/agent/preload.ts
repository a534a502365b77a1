// Searches that the agent writes in place of the model, for tools that a message of the user names.
import { randomUUID } from 'node:crypto'
import { type Message, SEARCH_TOOL, type ToolUse } from '../core/index.ts'
import { blocksOf } from '../core/oracle/index.ts'
import { fieldsOf, textOf } from '../lib/index.ts'

const PREFIX = 'toolu_preload_'
/** Some APIs take no ids that are longer. */
const LONGEST_ID = 40

export function preloadCall(names: readonly string[]): ToolUse {
  const id = `${PREFIX}${randomUUID().replaceAll('-', '')}`.slice(0, LONGEST_ID)
  return { id, name: SEARCH_TOOL, input: { query: `select:${names.join(',')}` } }
}

export function isPreload({ id }: { readonly id: string }): boolean {
  return id.startsWith(PREFIX)
}

/** The tools that were loaded because the user named them, as far as the history still tells. */
export function preloadedIn(messages: readonly Message[]): string[] {
  const calls = messages.flatMap(({ role, content }) => (role === 'assistant' ? blocksOf(content) : []))
  return calls
    .filter(({ id }) => textOf(id).startsWith(PREFIX))
    .flatMap(({ input }) =>
      textOf(fieldsOf(input).query)
        .replace(/^select:/, '')
        .split(','),
    )
}
