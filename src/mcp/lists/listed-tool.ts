// Builds a tool as a client lists it: the server's own definition under the gateway's name, short enough for every
// client.

import type { PoolTool } from '../../core/index.ts'
import type { Fields } from '../../lib/index.ts'
import { ALWAYS_LOAD } from '../greeting/index.ts'
import type { ShelvedTool } from '../host/index.ts'
import { listableTool } from './listable.ts'

/** Longest definition in characters of JSON; a larger one is replaced by the shortened one that the model gets. */
const MAX_CHARACTERS = 120_000
const MAX_META_CHARACTERS = 10_000

/**
 * Returns a tool as a client lists it. Removes the task fields: tasks are an agreement between a client and one server.
 */
export function listedTool({ name, tool, definition, names }: PoolTool): Fields {
  const whole = listableTool((tool as ShelvedTool).listed)
  const described = { name, ...(definition.description ? { description: definition.description } : {}) }
  if (lengthOf(whole) <= MAX_CHARACTERS) {
    const { execution: _, ...own } = whole
    // The API would reject every request of the client for one invalid argument name.
    return { ...own, ...described, ...(names ? { inputSchema: definition.input_schema } : {}) }
  }
  const { _meta } = whole
  const isShort = typeof _meta === 'object' && _meta !== null && lengthOf(_meta) <= MAX_META_CHARACTERS
  return { ...described, inputSchema: definition.input_schema, ...(isShort ? { _meta } : {}) }
}

/** Marks a tool so that clients that defer tools themselves show it at once. */
export function alwaysLoaded(tool: Fields): Fields {
  return { ...tool, _meta: { ...(tool._meta as Fields | undefined), ...ALWAYS_LOAD } }
}

const lengths = new WeakMap<object, number>()

function lengthOf(value: object): number {
  let length = lengths.get(value)
  if (length === undefined) {
    length = JSON.stringify(value).length
    lengths.set(value, length)
  }
  return length
}

const numbers = new WeakMap<PoolTool, number>()
let last = 0

/** Returns a number per tool object: the same number means the same definition. */
export function versionOf(tool: PoolTool): number {
  let number = numbers.get(tool)
  if (number === undefined) {
    number = ++last
    numbers.set(tool, number)
  }
  return number
}
