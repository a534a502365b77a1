// Checks that every name has a definition: in `tools`, or added by value earlier in the conversation (wire 4, 5, 42).
// Implements wire 4, 5, 42.

import {
  changeIn,
  type Fields,
  fieldsOf,
  kindOf,
  listOf,
  nameOf,
  type Placed,
  pathOf,
  referencesIn,
  textOf,
  toJson,
} from '@toolshelf/core/internal'
import { firstRefusal, type Refusal } from '../error.ts'
import type { Turn } from '../turns.ts'
import { checkToolEntry } from './tools.ts'

/** Checks that every name that a block refers to has a definition. */
export function checkReferences(tools: unknown, turns: readonly Turn[]): Refusal | undefined {
  const kinds = new Map(
    listOf(tools)
      .map(fieldsOf)
      .map((tool) => [nameOf(tool), kindOf(tool)]),
  )
  const known: Known = { kinds, added: 0, size: 0 }
  return firstRefusal(
    turns.flatMap((turn) => turn.blocks),
    (placed) => checkSearchResult(placed, known) ?? checkChange(placed, known),
  )
}

/** The definitions so far: kinds by name, and the number and size of those added by value. */
type Known = { readonly kinds: Map<string, string>; added: number; size: number }

const MAX_ADDED = 10_000
const MAX_ADDED_CHARACTERS = 4_194_304

function checkSearchResult({ block }: Placed, known: Known): Refusal | undefined {
  return firstRefusal(referencesIn(block), ({ tool_name: name }) => {
    if (typeof name === 'string' && known.kinds.has(name)) return undefined
    return { message: `Tool reference '${textOf(name)}' not found in available tools` }
  })
}

function checkChange(placed: Placed, known: Known): Refusal | undefined {
  const change = changeIn(placed.block)
  if (!change) return undefined
  if (change.definition) return define(change.name, change.definition, placed, known)
  if (known.kinds.has(change.name)) return undefined
  const message = `tool_addition/tool_removal references unknown tool '${change.name}'`
  return { message, code: 'tool_reference_unresolved' }
}

function define(name: string, definition: Fields, placed: Placed, known: Known): Refusal | undefined {
  const path = pathOf(placed)
  const fault = checkToolEntry(definition, `${path}.tool_addition.tool.tool_definition.definition`)
  if (fault) return fault
  const kind = kindOf(definition)
  if ((known.kinds.get(name) ?? kind) !== kind) {
    const message = `${path}: the tool '${name}' is already defined as a tool of another kind`
    return { message, code: 'tool_name_conflict' }
  }
  known.kinds.set(name, kind)
  known.added += 1
  known.size += toJson(definition).length
  if (known.added <= MAX_ADDED && known.size <= MAX_ADDED_CHARACTERS) return undefined
  const message = `${path}: the tools defined in messages are too many or too large`
  return { message, code: 'available_tools_limit_exceeded' }
}
