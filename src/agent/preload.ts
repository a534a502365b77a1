// Writes search calls on the model's behalf, to load tools that a user message names.
import { randomUUID } from 'node:crypto'
import type { Message, ToolUse } from '../core/index.ts'
import { blocksOf } from '../core/oracle/index.ts'
import { fieldsOf, textOf } from '../lib/index.ts'

const PREFIX = 'toolu_preload_'
/** Some APIs refuse longer ids. */
const MAX_ID_LENGTH = 40

/** Makes a call of the search tool that loads these tools. */
export function preloadCall(searchTool: string, names: readonly string[]): ToolUse {
  const id = `${PREFIX}${randomUUID().replaceAll('-', '')}`.slice(0, MAX_ID_LENGTH)
  return { id, name: searchTool, input: { query: `select:${names.join(',')}` } }
}

/** Returns whether a call was made by `preloadCall`. */
export function isPreload({ id }: { readonly id: string }): boolean {
  return id.startsWith(PREFIX)
}

/** Returns the tools that the history shows as preloaded. */
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
