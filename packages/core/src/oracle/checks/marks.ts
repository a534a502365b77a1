// Checks cache breakpoints: their form, their number, and the order of their lifetimes.

import { type Fields, fieldsOf, isFields, listOf } from '../../lib/json.ts'
import { firstRefusal, type Refusal } from '../error.ts'
import { blocksOf } from '../turns.ts'

/** Documentation, "Prompt caching": up to four breakpoints, counted over tools, system and messages together. */
export const MAX_MARKS = 4

/** SDK, `CacheControlEphemeral`. */
const LIFETIMES: readonly unknown[] = [undefined, null, '5m', '1h']

/** Checks all cache breakpoints of a request. */
export function checkMarks(request: Fields): Refusal | undefined {
  const marks = marksOf(request)
  return firstRefusal(marks, checkForm) ?? checkCount(request) ?? checkOrder(marks)
}

/** Counts breakpoints. SDK, `MessageCreateParams.cache_control`: one on the request counts as one on its last block. */
export function countMarks(request: Fields): number {
  const last = blocksOf(fieldsOf(listOf(request.messages).at(-1)).content).at(-1)
  const isAutomatic = isFields(request.cache_control) && !isFields(last?.cache_control)
  return marksOf(request).length + (isAutomatic ? 1 : 0)
}

type Mark = { readonly place: string; readonly control: unknown }

/** Returns the breakpoints in the order in which the API reads them. */
function marksOf({ tools, system, messages }: Fields): Mark[] {
  const marks: Mark[] = []
  for (const [index, tool] of listOf(tools).entries()) addMark(marks, fieldsOf(tool), `tools.${index}`)
  for (const [index, block] of blocksOf(system).entries()) addMark(marks, block, `system.${index}`)
  for (const [index, message] of listOf(messages).entries())
    addInner(marks, fieldsOf(message).content, `messages.${index}.content`, MAX_DEPTH)
  return marks
}

/** Deeper than any block that the API knows. */
const MAX_DEPTH = 5

function addMark(marks: Mark[], block: Fields, place: string): void {
  if (block.cache_control === undefined || block.cache_control === null) return
  marks.push({ place: `${place}.cache_control`, control: block.cache_control })
}

/** Adds the breakpoints of blocks, and of blocks inside results, documents and lists of references. */
function addInner(marks: Mark[], content: unknown, place: string, depth: number): void {
  if (depth === 0) return
  const list = isFields(content) ? content.tool_references : content
  for (const [index, value] of listOf(list).entries()) {
    const block = fieldsOf(value)
    const path = `${place}.${index}`
    addInner(marks, block.content, `${path}.content`, depth - 1)
    addInner(marks, fieldsOf(block.source).content, `${path}.source.content`, depth - 1)
    addMark(marks, block, path)
  }
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
