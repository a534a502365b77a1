// Decides whether a folder's files are used: by an earlier decision, by a flag, or by asking the user.
// Implements H7.
import { counted } from '../../terminal/index.ts'
import { plainLine, type TrustItem } from './items.ts'
import { type Project, withoutContent } from './project.ts'
import { type Decided, decidedNow, isProjectDecided, type TrustRecord, type TrustStore } from './store.ts'

/** How the user can decide. */
export type Deciding = {
  readonly store: TrustStore
  /** The user trusts it on the command line, for this run. */
  readonly isTrusting: boolean
  /** Asks the user; missing if nobody can answer. */
  readonly ask: ((question: string) => Promise<string>) | undefined
  /** Shows what the question is about. */
  readonly show: (text: string) => void
  readonly notify: (message: string) => void
  readonly now?: () => Date
}

/** Returns the project unchanged if the user trusts it, else without anything that would act. */
export async function decideTrust(project: Project, deciding: Deciding): Promise<Project> {
  const { store, isTrusting, ask, show, notify } = deciding
  if (project.items.length === 0 || isTrusting) return project
  const record = await store.read(project.folder)
  if (isProjectDecided(record?.trusted, project)) return project
  if (isProjectDecided(record?.refused, project)) {
    notify(notUsed(project, `You said no on ${dayOf(record?.refused)}. "toolshelf trust" asks again.`))
    return withoutContent(project)
  }
  if (!ask) {
    notify(
      notUsed(
        project,
        'This content is not trusted, and there is no terminal to ask in. Look at it with "toolshelf trust", or add --trust-project to use it in this run.',
      ),
    )
    return withoutContent(project)
  }
  show(questionText(project, record?.trusted))
  const answer = (await ask(PROMPT)).trim()
  if (/^y(es)?$/i.test(answer)) {
    await keep(project, record, 'trusted', deciding)
    return project
  }
  if (/^no?$/i.test(answer)) await keep(project, record, 'refused', deciding)
  else notify(notUsed(project, 'You will be asked again.'))
  return withoutContent(project)
}

/**
 * Returns whether the user trusts the project in its current state; a project without any effect needs no trust.
 */
export async function isTrusted(project: Project, store: TrustStore): Promise<boolean> {
  return project.items.length === 0 || isProjectDecided((await store.read(project.folder))?.trusted, project)
}

const PROMPT = 'Trust this content? [y] yes  [n] no, do not ask again  [Enter] not now: '

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

function notUsed({ items, folder }: Project, why: string): string {
  return `${summaryOf(items)} of ${plainLine(folder)} ${items.length === 1 ? 'is' : 'are'} not used. ${why}`
}

/** Counts items: `2 servers, 1 skill`. */
export function summaryOf(items: readonly TrustItem[]): string {
  const count = (kind: TrustItem['kind']) => items.filter((one) => one.kind === kind).length
  const parts = [
    [count('server'), 'server'],
    [count('skill'), 'skill'],
    [count('rule'), 'rule'],
    [count('settings'), 'file of settings'],
  ] as const
  return parts
    .filter(([number]) => number > 0)
    .map(([number, noun]) => counted(number, noun))
    .join(', ')
}

function dayOf(decided: Decided | undefined): string {
  return decided?.at.slice(0, 10) ?? 'an earlier day'
}

/** Items described in a question; the rest is counted. */
const MAX_SHOWN = 20
const MAX_LINE_LENGTH = 200

/** Describes what the folder would do, or what is new since it was trusted. */
export function questionText(project: Project, trusted: Decided | undefined): string {
  const { folder, items } = project
  const changes = changesSince(trusted, project)
  const isChanged = trusted !== undefined && changes.length > 0
  const shown = isChanged ? changes : items.map((one) => trustItemLines(one))
  const rest = shown.length - MAX_SHOWN
  return [
    isChanged
      ? `The files of ${plainLine(folder)} have changed since you trusted them on ${dayOf(trusted)}:`
      : `The files of ${plainLine(folder)} would do this (${summaryOf(items)}):`,
    ...shown.slice(0, MAX_SHOWN).flat(),
    ...(rest > 0 ? [`  … and ${rest.toLocaleString('en-US')} more. "toolshelf trust show" prints all.`] : []),
    'Trust covers these lines, not the programs and files that they run.',
  ].join('\n')
}

/** Renders one item in full. */
export function trustItemLines(
  { kind, title, file, lines }: TrustItem,
  maxLength = MAX_LINE_LENGTH,
): string[] {
  return [`  ${kind} ${title} (${file})`, ...lines.map((line) => `    ${plainLine(line, maxLength)}`)]
}

/** What is new, changed or removed, with its lines. */
function changesSince(trusted: Decided | undefined, { items, files }: Project): string[][] {
  const known = trusted?.items ?? []
  const isSame = (one: { kind: string; title: string; file: string }) => (other: typeof one) =>
    other.kind === one.kind && other.title === one.title && other.file === one.file
  const changed = items.flatMap((one) => {
    const before = known.find(isSame(one))
    if (before?.hash === one.hash) return []
    if (!before) return [['  new:', ...trustItemLines(one)]]
    const gone = before.lines.filter((line) => !one.lines.includes(line))
    const added = one.lines.filter((line) => !before.lines.includes(line))
    const lines = [...gone.map((line) => `    - ${line}`), ...added.map((line) => `    + ${line}`)]
    const detail = lines.length > 0 ? lines : ['    its text or its settings changed']
    return [
      [`  changed: ${one.kind} ${one.title} (${one.file})`, ...detail.map((line) => plainLine(line, 240))],
    ]
  })
  const removed = known
    .filter((one) => files.has(one.file) && !items.some(isSame(one)))
    .map((one) => [plainLine(`  gone: ${one.kind} ${one.title} (${one.file})`)])
  return [...changed, ...removed]
}
