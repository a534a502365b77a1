// Reads events from a stream or a file. They may contain anything, so every field is checked when it is read.
import { type Fields, isFields, listOf, textOf } from '@toolshelf/core/internal'

/** An event of which only the fields that order it are known. */
export type EventRecord = Fields & {
  readonly type: string
  readonly time: string
  readonly processId: number
  readonly sequence: number
}

/** Returns the value as a record; undefined if it is not one. */
export function readEvent(value: unknown): EventRecord | undefined {
  if (!isFields(value)) return undefined
  const { type, time, processId, sequence } = value
  if (typeof type !== 'string' || typeof time !== 'string' || !TIME.test(time)) return undefined
  if (!Number.isSafeInteger(processId) || !Number.isSafeInteger(sequence)) return undefined
  return value as EventRecord
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/

/** Orders events by time, then as their process counted them. */
export function compareEvents(one: EventRecord, other: EventRecord): number {
  if (one.time !== other.time) return one.time < other.time ? -1 : 1
  return one.processId - other.processId || one.sequence - other.sequence
}

/** Returns a finite number; undefined for anything else. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

/** Returns the number, or 0. */
export function amountOf(value: unknown): number {
  return numberOf(value) ?? 0
}

/** Returns the texts of a list; drops other values. */
export function stringsOf(value: unknown): readonly string[] {
  const list = listOf(value)
  return list.every((one) => typeof one === 'string') ? (list as readonly string[]) : list.map(textOf)
}

/** Splits chunks of a stream into lines, whatever the chunks' borders are. */
export function createTextLines(take: (line: string) => void): {
  add(chunk: string): void
  /** Takes what follows the last line break. */
  end(): void
} {
  let rest = ''
  return {
    add(chunk) {
      let start = 0
      for (let end = chunk.indexOf('\n'); end >= 0; end = chunk.indexOf('\n', start)) {
        take(rest + chunk.slice(start, end))
        rest = ''
        start = end + 1
      }
      rest += chunk.slice(start)
    },
    end() {
      if (rest !== '') take(rest)
      rest = ''
    },
  }
}
