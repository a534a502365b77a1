// Limits the values of a client's messages. The SDK validates each of them with its schemas, which takes seconds for
// a million. Only the arguments of a tool call are passed on unvalidated. The arguments of a prompt count too: the
// SDK validates them, and its error would list every wrong one.
import { fieldsOf } from '@toolshelf/core/internal'

/** Values of one request body; an argument of a tool call counts as one. */
const MAX_VALUES = 10_000

/** Returns the reason to refuse messages that have too many values; undefined if they have not. */
export function tooManyMessageValues(messages: readonly unknown[]): string | undefined {
  if (!hasMoreValues(messages.map(withCountedArguments), MAX_VALUES)) return undefined
  return `the body has more than ${MAX_VALUES} values, each argument of a tool call counted as one; send fewer`
}

function withCountedArguments(message: unknown): unknown {
  const { params, ...rest } = fieldsOf(message)
  if (rest.method !== 'tools/call') return message
  const { arguments: given, ...others } = fieldsOf(params)
  return [rest, others, Object.keys(fieldsOf(given))]
}

function hasMoreValues(root: unknown, max: number): boolean {
  const open: unknown[] = [root]
  let count = 0
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== 'object' || value === null) continue
    const inside: unknown[] = Array.isArray(value) ? value : Object.values(value)
    count += inside.length
    if (count > max) return true
    for (const one of inside) open.push(one)
  }
  return false
}
