// Finds the tools that a user message names, and writes the search call that loads them, on the model's behalf.
import { randomUUID } from 'node:crypto'
import type { Message, PoolTool, Shelf, ToolUse } from '@toolshelf/core'
import { blocksOf, fieldsOf, splitName, textOf } from '@toolshelf/core/internal'

const PREFIX = 'toolu_preload_'
/** Some APIs refuse longer ids. */
const MAX_ID_LENGTH = 40
/** Characters of a message in which names are looked for; what follows is mostly pasted text. */
const MAX_TEXT_LENGTH = 20_000
const MAX_PRELOADED = 10

/**
 * Returns the deferred tools that a text names and that are not loaded yet: by full name, or by an own name of at least
 * two parts that only one tool has.
 *
 * @example
 * const agent = createAgent({ client, model, shelf, preload: (text) => namedTools(shelf, text) })
 */
export function namedTools(shelf: Shelf, text: string): string[] {
  const { deferred } = shelf.partition()
  const words = text.slice(0, MAX_TEXT_LENGTH).match(/[\p{L}\p{N}_][\p{L}\p{N}_./-]*/gu) ?? []
  const said = new Set(words.flatMap((word) => [word, word.replace(/[./-]+$/, '')]))
  const isOnly = ({ original }: PoolTool) => deferred.filter((one) => one.original === original).length === 1
  const isNamed = (entry: PoolTool) =>
    said.has(entry.name) ||
    (said.has(entry.original) && splitName(entry.original).length >= 2 && isOnly(entry))
  const loaded = new Set(shelf.state().kept.map(({ definition }) => definition.name))
  const named = deferred.filter(isNamed).slice(0, MAX_PRELOADED)
  return named.map(({ name }) => name).filter((name) => !loaded.has(name))
}

/** Makes a call of the search tool that loads these tools. */
export function preloadCall(searchTool: string, names: readonly string[]): ToolUse {
  const id = `${PREFIX}${randomUUID().replaceAll('-', '')}`.slice(0, MAX_ID_LENGTH)
  return { id, name: searchTool, input: { query: `select:${names.join(',')}` } }
}

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
