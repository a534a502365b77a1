// Checks cache breakpoints: their form, their number, and the order of their lifetimes.

import { countMarks, type Fields, fieldsOf, MAX_MARKS, type Mark, marksOf } from '@toolshelf/core/internal'
import { firstRefusal, type Refusal } from '../error.ts'

/** SDK, `CacheControlEphemeral`. */
const LIFETIMES: readonly unknown[] = [undefined, null, '5m', '1h']

/** Checks all cache breakpoints of a request. */
export function checkMarks(request: Fields): Refusal | undefined {
  const marks = marksOf(request)
  return firstRefusal(marks, checkForm) ?? checkCount(request) ?? checkOrder(marks)
}

function checkForm({ place, control }: Mark): Refusal | undefined {
  const { type, ttl } = fieldsOf(control)
  if (type !== 'ephemeral') {
    const tag = `Input tag '${String(type)}' found using 'type'`
    return { message: `${place}: ${tag} does not match any of the expected tags: 'ephemeral'` }
  }
  return LIFETIMES.includes(ttl)
    ? undefined
    : { message: `${place}.ephemeral.ttl: Input should be '5m' or '1h'` }
}

function checkCount(request: Fields): Refusal | undefined {
  const count = countMarks(request)
  if (count <= MAX_MARKS) return undefined
  return { message: `A maximum of ${MAX_MARKS} blocks with cache_control may be provided. Found ${count}.` }
}

/** Documentation, "Prompt caching", mixed lifetimes: longer ones come first. */
function checkOrder(marks: readonly Mark[]): Refusal | undefined {
  const isLong = ({ control }: Mark) => fieldsOf(control).ttl === '1h'
  const firstShort = marks.findIndex((mark) => !isLong(mark))
  const late = firstShort < 0 ? undefined : marks.slice(firstShort).find(isLong)
  if (!late) return undefined
  const fault = "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block."
  const order = 'Note that blocks are processed in the following order: `tools`, `system`, `messages`.'
  return { message: `${late.place}.ttl: ${fault} ${order}` }
}
