// Hashes the cached prefix of a request, and explains what changed it (K).
// Implements K1, K2, K3.
import { hash, oncePerFrozen } from './lib/objects.ts'
import type { Block } from './types.ts'

/** A request as it was sent. */
export type PrefixInput = {
  /** The body that was sent. */
  readonly request: { readonly [field: string]: unknown }
  /** The headers that were sent with it. */
  readonly headers?: { readonly [name: string]: string }
}

/** One reason why a request does not continue the cached prefix of the one before it. */
export type BreakCause =
  | { readonly kind: 'model' | 'system' | 'header'; readonly before: unknown; readonly after: unknown }
  | { readonly kind: 'tool-added' | 'tool-removed' | 'tool-changed'; readonly name: string }
  | { readonly kind: 'tools-reordered' }
  | { readonly kind: 'message-edited'; readonly index: number }

/** Returns a hash of everything in front of the messages, without deferred tools, which the API leaves out too (K1). */
export function prefixHash({ request, headers }: PrefixInput): string {
  const tools = toolsOf(request).filter((tool) => !isDeferred(tool))
  return hash(json([request.model, headers ?? {}, tools, request.system ?? null]))
}

/**
 * Lists what in `next` breaks the cached prefix of `previous` (K2); empty if the cache holds.
 *
 * @example
 * for (const cause of explainBreak(previous, prepared)) console.warn('prompt cache lost:', cause)
 */
export function explainBreak(previous: PrefixInput, next: PrefixInput): BreakCause[] {
  const [before, after] = [previous.request, next.request]
  return NONE.concat(
    differ('model', before.model, after.model),
    differ('header', previous.headers ?? {}, next.headers ?? {}),
    toolChanges(before, after),
    differ('system', before.system, after.system),
    editedMessage(before.messages, after.messages),
  )
}

const NONE: readonly BreakCause[] = []

function differ(kind: 'model' | 'system' | 'header', before: unknown, after: unknown): readonly BreakCause[] {
  return isEqual(before, after) ? NONE : [{ kind, before, after }]
}

/** A deferred tool is part of the prefix only if the sent history refers to it. */
function toolChanges(previous: PrefixInput['request'], next: PrefixInput['request']): BreakCause[] {
  const [before, after] = [toolsOf(previous), toolsOf(next)]
  const [oldPart, newPart] = differingParts(before, after)
  // A request cannot refer to a tool that it does not have, so deferred tools that are new are not part of it.
  const referenced = oldPart.length > 0 ? referencedNames(previous) : new Set()
  const isPart = (tool: Block) => !isDeferred(tool) || referenced.has(tool.name)
  const old = new Map(oldPart.filter(isPart).map((tool) => [String(tool.name), tool]))
  const current = new Map(newPart.filter(isPart).map((tool) => [String(tool.name), tool]))
  const causes: BreakCause[] = []
  for (const [name, tool] of old) {
    if (!current.has(name)) causes.push({ kind: 'tool-removed', name })
    else if (!isEqual(tool, current.get(name))) causes.push({ kind: 'tool-changed', name })
  }
  for (const name of current.keys()) if (!old.has(name)) causes.push({ kind: 'tool-added', name })
  causes.push(...deferralChange(before, after, causes))
  if (causes.length > 0) return causes
  const order = (tools: readonly Block[]) => tools.filter((tool) => !isDeferred(tool)).map(({ name }) => name)
  return isEqual(order(oldPart), order(newPart)) ? [] : [{ kind: 'tools-reordered' }]
}

/** Returns both lists without what they have in common at their start and at their end. */
function differingParts(
  before: readonly Block[],
  after: readonly Block[],
): [readonly Block[], readonly Block[]] {
  const shorter = Math.min(before.length, after.length)
  let start = 0
  while (start < shorter && isEqual(before[start], after[start])) start++
  let end = 0
  while (end < shorter - start && isEqual(before[before.length - 1 - end], after[after.length - 1 - end]))
    end++
  return [before.slice(start, before.length - end), after.slice(start, after.length - end)]
}

function isEqual(before: unknown, after: unknown): boolean {
  return before === after || hasSameParts(before, after) || json(before) === json(after)
}

/** Levels at which copies are compared without JSON. */
const MAX_COPY_DEPTH = 6

/** Whether two objects have the same values in the same order: copies of one definition need no JSON. */
function hasSameParts(before: unknown, after: unknown, depth = MAX_COPY_DEPTH): boolean {
  if (typeof before !== 'object' || typeof after !== 'object' || !before || !after || depth === 0)
    return false
  const [old, now] = [before as Block, after as Block]
  const [oldKeys, newKeys] = [Object.keys(old), Object.keys(now)]
  return (
    Array.isArray(before) === Array.isArray(after) &&
    oldKeys.length === newKeys.length &&
    oldKeys.every(
      (key, at) =>
        newKeys[at] === key && (old[key] === now[key] || hasSameParts(old[key], now[key], depth - 1)),
    )
  )
}

/** The first deferred tool adds a line to the prompt, and removing the last one removes the line (Q7). */
function deferralChange(
  before: readonly Block[],
  after: readonly Block[],
  known: readonly BreakCause[],
): BreakCause[] {
  const [first, last] = [after.find(isDeferred), before.find(isDeferred)]
  if (!first === !last) return []
  const kind = first ? 'tool-added' : 'tool-removed'
  const name = String((first ?? last)?.name)
  return known.some((one) => one.kind === kind && one.name === name) ? [] : [{ kind, name }]
}

function isDeferred(tool: Block): boolean {
  return tool.defer_loading === true
}

function referencedNames({ messages }: PrefixInput['request']): Set<unknown> {
  const names = new Set<unknown>()
  for (const message of Array.isArray(messages) ? messages : [])
    if (typeof message === 'object' && message) for (const name of namesReferredTo(message)) names.add(name)
  return names
}

/** Messages of a conversation are the same frozen objects in its next request. */
const namesReferredTo = oncePerFrozen((message: object): readonly unknown[] => {
  const names: unknown[] = []
  collectReferences(message, names, MAX_REFERENCE_DEPTH)
  return names
})

/** Levels below a message at which references are looked for; the API has them at four. */
const MAX_REFERENCE_DEPTH = 100

function collectReferences(value: unknown, names: unknown[], depth: number): void {
  if (typeof value !== 'object' || value === null || depth === 0) return
  const block = value as Block
  if (block.type === 'tool_reference') names.push(block.tool_name ?? block.name)
  for (const key in block) collectReferences(block[key], names, depth - 1)
}

function editedMessage(before: unknown, after: unknown): BreakCause[] {
  const old = Array.isArray(before) ? before : []
  const current = Array.isArray(after) ? after : []
  const index = old.findIndex((message, position) => !isEqual(message, current[position]))
  return index < 0 ? [] : [{ kind: 'message-edited', index }]
}

function toolsOf(request: PrefixInput['request']): readonly Block[] {
  return Array.isArray(request.tools) ? request.tools : []
}

/** Leaves out cache breakpoints, which the model does not read. */
function json(value: unknown): string {
  return (
    JSON.stringify(value, (key, inner) =>
      key === 'cache_control' && (inner as Block | null)?.type === 'ephemeral' ? undefined : inner,
    ) ?? ''
  )
}
