// Opens a folder's files for every command that would act on them: reads them once, and uses them only if the user
// trusts them.
// Implements H7.
import { join, resolve } from 'node:path'
import { type LocalMachine, thisMachine } from '@toolshelf/mcp/internal'
import { directoryIn, filesIn, type Input, type Option, type Terminal } from '../command.ts'
import { counted } from '../terminal/pen.ts'
import { visible, wrapLines } from '../terminal/table.ts'
import { dataFolder } from '../user-files/session-files.ts'
import { type Project, type ProjectParts, readProject, troublesOf, withoutContent } from './project.ts'
import {
  type Decided,
  decidedNow,
  hashOf,
  isProjectDecided,
  type KnownItem,
  knownItem,
  openTrustStore,
  type TrustItem,
  type TrustRecord,
  type TrustStore,
} from './store.ts'

/** The option of commands that use a folder's files. */
export const trustOption: Option = {
  about: 'use this folder’s servers, skills and rules in this run without asking',
}

type OpenProjectOptions = ProjectParts & {
  readonly isTrusting: boolean
  readonly terminal: Terminal
  readonly notify: (message: string) => void
}

/** Opens the project in `machine.folder`, without untrusted parts. */
export async function openProject(machine: LocalMachine, options: OpenProjectOptions): Promise<Project> {
  const { terminal, notify, isTrusting, ...parts } = options
  const project = await readProject(machine, parts)
  for (const trouble of troublesOf(project)) notify(trouble)
  return decideTrust(project, {
    store: trustStore(machine, notify),
    isTrusting,
    ask: terminal.ask,
    show: terminal.report,
    screen: screenSize(),
    notify,
  })
}

/** Returns what fits on the terminal that the question is shown on. */
export function screenSize({ rows, columns }: Partial<ScreenSize> = process.stderr): ScreenSize {
  return { rows: rows || Number.POSITIVE_INFINITY, columns: columns || Number.POSITIVE_INFINITY }
}

/** Opens the project of an agent's session. `--config` replaces its servers. */
export function projectOf(
  input: Input,
  terminal: Terminal,
  notify: (message: string) => void,
): Promise<Project> {
  const machine = machineAt(directoryIn(input))
  const isTrusting = input.isSet('trust-project')
  return openProject(machine, { ...(filesIn(input) ? { configs: [] } : {}), isTrusting, terminal, notify })
}

/** Returns this machine, with the agent's working folder. */
export function machineAt(directory: string): LocalMachine {
  return { ...thisMachine(), folder: resolve(directory) }
}

/** Opens the store of trust decisions, next to the sessions. */
export function trustStore(machine: LocalMachine, notify: (message: string) => void): TrustStore {
  return openTrustStore(join(dataFolder(machine.environment, machine.home), 'trust'), notify)
}

/** How the user can decide. */
type Deciding = {
  readonly store: TrustStore
  /** The user trusts it on the command line, for this run. */
  readonly isTrusting: boolean
  /** Asks the user; missing if nobody can answer. */
  readonly ask: ((question: string) => Promise<string>) | undefined
  /** Shows what the question is about. */
  readonly show: (text: string) => void
  /** What fits on the user's screen; more is shown page by page. Default: everything. */
  readonly screen?: ScreenSize
  readonly notify: (message: string) => void
  readonly now?: () => Date
}

/** Returns the project unchanged if the user trusts it, else without anything that would act. */
export async function decideTrust(project: Project, deciding: Deciding): Promise<Project> {
  const { store, isTrusting, ask, notify } = deciding
  if (project.items.length === 0 || isTrusting) return project
  const record = await store.read(project.folder)
  if (isProjectDecided(record?.trusted, project)) return project
  const leaveOut = (why: string): Project => {
    const { items, folder } = project
    notify(`${summaryOf(items)} of ${visible(folder)} ${items.length === 1 ? 'is' : 'are'} not used. ${why}`)
    return withoutContent(project)
  }
  if (isProjectDecided(record?.refused, project))
    return leaveOut(`You said no on ${dayOf(record?.refused)}. "toolshelf trust" asks again.`)
  if (!ask)
    return leaveOut(
      'This content is not trusted, and there is no terminal to ask in. Look at it with "toolshelf trust", or add --trust-project to use it in this run.',
    )
  const answer = await askByPages(questionText(project, record?.trusted), ask, deciding)
  if (/^y(es)?$/i.test(answer)) {
    await keep(project, record, 'trusted', deciding)
    return project
  }
  if (!/^no?$/i.test(answer)) return leaveOut('You will be asked again.')
  await keep(project, record, 'refused', deciding)
  return withoutContent(project)
}

/** Asks only after all of the text was in sight. Returns an empty string if the user stops before. */
async function askByPages(
  text: string,
  ask: (question: string) => Promise<string>,
  { show, screen = EVERYTHING }: Deciding,
): Promise<string> {
  const pages = pagesOf(text, screen)
  for (const [index, page] of pages.entries()) {
    show(page)
    if (index === pages.length - 1) break
    const answer = await ask(`Page ${index + 1} of ${pages.length}. [Enter] next page  [q] not now: `)
    if (answer.trim() !== '') return ''
  }
  return (await ask('Trust this content? [y] yes  [n] no, do not ask again  [Enter] not now: ')).trim()
}

const EVERYTHING: ScreenSize = { rows: Number.POSITIVE_INFINITY, columns: Number.POSITIVE_INFINITY }

/** Returns whether the user trusts the project in its current state; a project without any effect needs no trust. */
export async function isTrusted(project: Project, store: TrustStore): Promise<boolean> {
  return project.items.length === 0 || isProjectDecided((await store.read(project.folder))?.trusted, project)
}

async function keep(
  project: Project,
  record: TrustRecord | undefined,
  outcome: 'trusted' | 'refused',
  { store, notify, now = () => new Date() }: Deciding,
): Promise<void> {
  const decided = decidedNow(project, record?.[outcome], now())
  try {
    await store.write({ ...record, folder: project.folder, [outcome]: decided })
  } catch (error) {
    notify(`the answer applies to this run only, because it cannot be saved: ${(error as Error).message}.`)
  }
}

/** Trusts the project in its current state. Rejects if that cannot be stored. */
export async function trustNow(project: Project, store: TrustStore, now = new Date()): Promise<void> {
  const { trusted } = (await store.read(project.folder)) ?? {}
  await store.write({ folder: project.folder, trusted: decidedNow(project, trusted, now) })
}

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

function dayOf(decided: Decided | undefined): string {
  return decided?.at.slice(0, 10) ?? 'an earlier day'
}

/** The size of the user's terminal. */
type ScreenSize = { readonly rows: number; readonly columns: number }

/** Lines of a page that the question below it takes. */
const QUESTION_ROWS = 3

/** Splits a text into pages that fit on the screen, so that none of it is pushed off before it was in sight. */
function pagesOf(text: string, { rows, columns }: ScreenSize): string[] {
  const lines = wrapLines(text, columns).split('\n')
  const size = Math.max(5, rows - QUESTION_ROWS)
  if (lines.length <= size) return [lines.join('\n')]
  const count = Math.ceil(lines.length / size)
  return Array.from({ length: count }, (_, page) => lines.slice(page * size, (page + 1) * size).join('\n'))
}
