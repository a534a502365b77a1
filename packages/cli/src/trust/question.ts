// Writes the question whether to trust a folder: everything that is new, in full, a screen at a time.
// Implements H7.
import { counted } from '../terminal/pen.ts'
import { visible, wrapLines } from '../terminal/table.ts'
import { hashOf, type TrustItem } from './items.ts'
import type { Project } from './project.ts'
import { type Decided, type KnownItem, knownItem } from './store.ts'

/** Describes what the folder would do, or what is new since it was trusted. */
export function questionText(project: Project, trusted: Decided | undefined): string {
  const { folder, items } = project
  const changes = trusted === undefined ? [] : changesSince(trusted, project)
  return [
    changes.length > 0
      ? `The files of ${visible(folder)} have changed since you trusted them on ${dayOf(trusted)}:`
      : `The files of ${visible(folder)} would do this (${summaryOf(items)}):`,
    ...(changes.length > 0 ? changes : items.flatMap((item) => trustItemLines(item))),
    'Trust covers these lines, not the programs and files that they run.',
  ].join('\n')
}

/**
 * Renders one item in full; lines that were not in sight `before` are marked. The folder's lines are indented, so that
 * none can be taken for one of ours.
 */
export function trustItemLines(item: TrustItem, before?: KnownItem): string[] {
  const head = `  ${titleOf(item)}: ${visible(item.effect)}`
  if (item.text === '') return [head]
  const known = new Set(before?.lines)
  const lines = item.text
    .split('\n')
    .map((line) => `${!before || known.has(hashOf(line)) ? ' ' : '+'} ${line}`)
  return [head, ...verbatim(lines.join('\n')).map((line) => `  ${line}`)]
}

/** Returns the lines of a text with everything visible, also how much of it is blank. */
function verbatim(text: string): string[] {
  return visible(text)
    .replace(/ {40,}/g, ({ length }) => ` ⟨${length} blanks⟩ `)
    .replace(/(?:\n *){10,}/g, (run) => `\n⟨${run.split('\n').length - 2} empty lines⟩\n`)
    .split('\n')
}

/** Returns a name on one line; letters beyond ASCII, which may look like others, are spelled out beside it. */
function titleOf({ kind, title, file }: Pick<KnownItem, 'kind' | 'title' | 'file'>): string {
  const codes = title.replace(/[^ -~]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
  const name = visible(title).replaceAll('\n', '\\n')
  return `${kind} ${name === codes ? name : `${name} (${codes})`} (${visible(file)})`
}

/** What is new, changed or gone. Only hashes of what was trusted are kept, because it may contain secrets. */
function changesSince(trusted: Decided, { items, files }: Project): string[] {
  const isSame = (one: Pick<KnownItem, 'kind' | 'title' | 'file'>) => (other: typeof one) =>
    other.kind === one.kind && other.title === one.title && other.file === one.file
  const changed = items.flatMap((item) => {
    const before = trusted.items.find(isSame(item))
    if (!before) return ['  new:', ...trustItemLines(item)]
    const isUnchanged = before.lines.join() === knownItem(item).lines.join()
    return isUnchanged ? [] : ['  changed, new lines are marked:', ...trustItemLines(item, before)]
  })
  const left = trusted.items.filter((one) => files.has(one.file) && !items.some(isSame(one)))
  return [...changed, ...left.map((one) => `  gone: ${titleOf(one)}`)]
}

/** Counts items: `2 servers, 1 skill`. */
export function summaryOf(items: readonly TrustItem[]): string {
  const nouns = { server: 'server', skill: 'skill', rule: 'rule', settings: 'file of settings' } as const
  return Object.entries(nouns)
    .map(([kind, noun]) => [items.filter((one) => one.kind === kind).length, noun] as const)
    .filter(([number]) => number > 0)
    .map(([number, noun]) => counted(number, noun))
    .join(', ')
}

export function dayOf(decided: Decided | undefined): string {
  return decided?.at.slice(0, 10) ?? 'an earlier day'
}

/** The size of the user's terminal. */
export type ScreenSize = { readonly rows: number; readonly columns: number }

/** Lines of a page that the question below it takes. */
const QUESTION_ROWS = 3

/** Splits a text into pages that fit on the screen, so that none of it is pushed off before it was in sight. */
export function pagesOf(text: string, { rows, columns }: ScreenSize): string[] {
  const lines = wrapLines(text, columns).split('\n')
  const size = Math.max(5, rows - QUESTION_ROWS)
  if (lines.length <= size) return [lines.join('\n')]
  const count = Math.ceil(lines.length / size)
  return Array.from({ length: count }, (_, page) => lines.slice(page * size, (page + 1) * size).join('\n'))
}
