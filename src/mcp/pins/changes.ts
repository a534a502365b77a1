// Compares two definitions of a tool: as paths that differ, and as lines for display.
import { cut, isContainer, spellOutInvisible, walkJson } from '../../lib/index.ts'
import type { ListedTool } from '../types.ts'
import { pinnedParts } from './fingerprint.ts'

/** A path at which two definitions differ; a text is undefined if there is nothing at that path. */
export type Difference = {
  /** The path, such as `description` or `inputSchema.properties.path.default`. */
  readonly where: string
  readonly before: string | undefined
  readonly after: string | undefined
}

/** Returns the differences of two definitions. */
export function differences(before: ListedTool, after: ListedTool): Difference[] {
  const [old, young] = [placesOf(before), placesOf(after)]
  const changed = [...young].filter(([where, text]) => old.get(where) !== text)
  const gone = [...old].filter(([where]) => !young.has(where))
  return [
    ...changed.map(([where, text]) => ({ where, before: old.get(where), after: text })),
    ...gone.map(([where, text]) => ({ where, before: text, after: undefined })),
  ]
}

/** Lists the paths that differ, on one line: `description, inputSchema.properties.path.default and 3 more`. */
export function outline(found: readonly Difference[], limit = 3): string {
  const rest = found.length - limit
  const named = found.slice(0, limit).map(({ where }) => spellOutInvisible(where))
  return named.join(', ') + (rest > 0 ? ` and ${rest} more` : '')
}

const MAX_LINES = 12
const MAX_LINE_LENGTH = 160
const CONTEXT = 40

/** Returns removed lines (`- …`) and added lines (`+ …`), without the common start and end. */
export function differenceLines({ before, after }: Difference): string[] {
  const [old, young] = [linesOf(before), linesOf(after)]
  const shortest = Math.min(old.length, young.length)
  let start = 0
  while (start < shortest && old[start] === young[start]) start++
  let end = 0
  while (end < shortest - start && old.at(-1 - end) === young.at(-1 - end)) end++
  const [went, came] = [old.slice(start, old.length - end), young.slice(start, young.length - end)]
  const shared = sharedStart(went[0] ?? '', came[0] ?? '')
  return [...shown('-', went, shared), ...shown('+', came, shared)]
}

function shown(sign: '-' | '+', lines: readonly string[], shared: number): string[] {
  const rest = lines.length - MAX_LINES
  const excerpts = lines.slice(0, MAX_LINES).map((line, index) => {
    const from = index === 0 && line.length > MAX_LINE_LENGTH ? Math.max(0, shared - CONTEXT) : 0
    return `${sign} ${from > 0 ? '…' : ''}${cut(spellOutInvisible(line.slice(from, from + MAX_LINE_LENGTH * 2)), MAX_LINE_LENGTH)}`
  })
  return rest > 0 ? [...excerpts, `${sign} … ${rest} more lines`] : excerpts
}

function linesOf(text: string | undefined): string[] {
  return text === undefined ? [] : text.split(/\r?\n/)
}

function sharedStart(one: string, other: string): number {
  let length = 0
  while (length < one.length && one[length] === other[length]) length++
  return length
}

function placesOf(tool: ListedTool): Map<string, string> {
  const places = new Map<string, string>()
  for (const [part, whole] of Object.entries(pinnedParts(tool))) {
    if (whole === undefined) continue
    for (const { path, value } of walkJson(whole, part, isShort))
      if (!isContainer(value) || isShort(value)) places.set(path, printed(value))
  }
  return places
}

/** Returns whether a list of strings and numbers, such as `required` or `enum`, is compared as one value. */
function isShort(value: object): boolean {
  return Array.isArray(value) ? !value.some(isContainer) : Object.keys(value).length === 0
}

function printed(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null')
}
