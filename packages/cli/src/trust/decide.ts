// Decides whether a folder's files are used: by an earlier decision, by a flag, or by asking the user.
// Implements H7.
import { visible } from '../terminal/table.ts'
import { type Project, withoutContent } from './project.ts'
import { dayOf, pagesOf, questionText, type ScreenSize, summaryOf } from './question.ts'
import { decidedNow, isProjectDecided, type TrustRecord, type TrustStore } from './store.ts'

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
