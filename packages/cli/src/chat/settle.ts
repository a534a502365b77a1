// Finds the part of a turn that will not change any more and can scroll away.
import { harmless } from '../terminal/table.ts'
import type { Item } from './items.ts'
import { closedLines } from './markdown.ts'
import { isInRow, isSeen, itemsOf, type Part, type Speech } from './parts.ts'

/** A turn, split into its final items and the rest. */
type Settled = {
  readonly items: readonly Item[]
  /** The parts that may still change. */
  readonly parts: readonly Part[]
  /** Part of the streaming reply is already among the items. */
  readonly isBegun: boolean
}

/** Splits a turn. */
export function settle(parts: readonly Part[], isVerbose: boolean): Settled {
  const count = certainParts(parts, isVerbose)
  const certain = parts.slice(0, count)
  const items = finalItems(certain, isVerbose)
  const [first, ...others] = parts.slice(count)
  const cut = first && isSpeech(first) && isSeen(first, isVerbose) ? cutSpeech(first) : undefined
  const isBegun = certain.some((part) => isSpeech(part) && part.isOpen && isSeen(part, isVerbose))
  if (!cut) return { items, parts: parts.slice(count), isBegun }
  return { items: [...items, cut.item], parts: [cut.rest, ...others], isBegun: true }
}

/** Returns all items as final, because nothing more comes. */
export function finalItems(parts: readonly Part[], isVerbose: boolean): Item[] {
  return itemsOf(parts, isVerbose).map((item) => ({ ...item, isOpen: false }))
}

/** How many parts from the first on are final, without splitting a group that may still grow. */
function certainParts(parts: readonly Part[], isVerbose: boolean): number {
  const open = parts.findIndex((part, index) => !isCertain(part, parts.slice(index + 1)))
  const maxFinal = open < 0 ? parts.length : open
  const seen = (some: readonly Part[]) => some.filter((part) => isSeen(part, isVerbose))
  for (let count = maxFinal; count > 0; count--) {
    const before = seen(parts.slice(0, count)).at(-1)
    const [after] = seen(parts.slice(count))
    const mayGrow = before && isInRow(before, isVerbose) && (!after || isInRow(after, isVerbose))
    if (!mayGrow) return count
  }
  return 0
}

/** Of a streaming reply, only the latest text grows. */
function isCertain(part: Part, later: readonly Part[]): boolean {
  if (part.kind === 'call') return part.isOver
  return !isSpeech(part) || !part.isOpen || later.some(isSpeech)
}

/** Returns whether a part is text or thinking of the model. */
export function isSpeech(part: Part): part is Speech {
  return part.kind === 'said' || part.kind === 'thought'
}

function cutSpeech(speech: Speech): { readonly item: Item; readonly rest: Speech } | undefined {
  const { kind, text, fence, isOpen } = speech
  const lines = text.split(/\r?\n/)
  const { count, fence: next } = closed(lines.map(harmless), speech)
  if (count <= 0) return undefined
  const item = { kind, text: lines.slice(0, count).join('\n') }
  const rest = { kind, text: lines.slice(count).join('\n'), isOpen }
  return { item: withFence(item, fence), rest: withFence(rest, next) }
}

function closed(lines: readonly string[], { kind, fence }: Speech): ReturnType<typeof closedLines> {
  if (kind === 'thought') return { count: lines.findLastIndex((line) => line.trim() !== '') }
  const { count, fence: next } = closedLines(fence === undefined ? lines : [fence, ...lines])
  return { count: fence === undefined ? count : count - 1, fence: next }
}

function withFence<Some extends object>(some: Some, fence: string | undefined): Some & { fence?: string } {
  return fence === undefined ? some : { ...some, fence }
}
