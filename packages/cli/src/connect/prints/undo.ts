// `toolshelf connect --undo`: puts back the files that `--apply` changed, byte for byte if they were not edited since.
import { isUtf8 } from 'node:buffer'
import { basename, resolve } from 'node:path'
import { fieldsOf, listOf, toJson } from '@toolshelf/core/internal'
import type { ServerConfig } from '@toolshelf/mcp'
import {
  currentPart,
  keepReferences,
  type LocalMachine,
  readEntries,
  readServer,
  restoreServers,
  type ServerEntry,
} from '@toolshelf/mcp/internal'
import { agrees, CommandError, filesIn, type Input, type Terminal } from '../../command.ts'
import { printable } from '../../terminal/pen.ts'
import {
  type ApplyRecord,
  ChangedMeanwhile,
  contentHash,
  type Journal,
  openJournal,
  putBack,
  type RecordedFile,
  readCurrent,
} from '../journal.ts'
import { journalFolder } from './apply.ts'
import { changedLines } from './diff.ts'

/** Runs `connect --undo`; returns the exit code. */
export async function undoConnect(input: Input, terminal: Terminal, machine: LocalMachine): Promise<0 | 1> {
  const journal = openJournal(journalFolder(machine))
  const records = await readRecords(journal, machine)
  const named = (filesIn(input, 'from') ?? []).map((file) => resolve(machine.folder, file))
  const isNamed = ({ file }: RecordedFile) => named.length === 0 || named.includes(file)
  /** Files that stay as they are now: older records of them cannot be undone either. */
  const stuck = new Set<string>()
  const context = { journal, input, terminal, machine, changed: new Set<string>() }
  const steps: UndoStep[] = []
  const isAllNamed = records.every(({ files }) => files.every((file) => file.isOwn || isNamed(file)))
  if (isAllNamed && !input.isSet('json')) await announceOwn(context, records)
  for (const record of records) {
    let left = record
    for (const file of record.files.filter((one) => !one.isOwn)) {
      const isUndone =
        isNamed(file) && !stuck.has(file.file) && (await undoFile(context, record, file, steps))
      if (isUndone) left = await journal.drop(left, [file])
      else stuck.add(file.file)
    }
    if (stuck.size === 0) await undoOwn(context, left, steps)
  }
  await journal.alone(journal.sweep)
  return finish(steps, named, context)
}

type Context = {
  readonly journal: Journal
  readonly input: Input
  readonly terminal: Terminal
  readonly machine: LocalMachine
  /** The files that were written or deleted. */
  readonly changed: Set<string>
}

/** What happened to a file, for the report. */
type UndoStep = {
  readonly file: string
  /** `deleted`: there was no such file before. */
  readonly outcome: 'restored' | 'deleted' | 'unchanged' | 'left'
  readonly note?: string
}

async function readRecords(journal: Journal, machine: LocalMachine): Promise<readonly ApplyRecord[]> {
  try {
    return await journal.records()
  } catch (error) {
    throw new CommandError(
      `a record in ${journalFolder(machine)} cannot be read: ${(error as Error).message}. The copies of your files are in the same folder.`,
    )
  }
}

/** Returns whether the file is as it was. */
async function undoFile(
  context: Context,
  record: ApplyRecord,
  file: RecordedFile,
  steps: UndoStep[],
): Promise<boolean> {
  const { journal, input, terminal, changed } = context
  const leave = (reason: string) => {
    const isPartly = changed.has(file.file)
    const note = isPartly
      ? `the newest changes of "toolshelf connect --apply" are undone. Those of ${record.at.slice(0, 16).replace('T', ' ')} UTC are left: ${reason}`
      : reason
    const earlier = steps.filter((step) => step.file !== file.file)
    steps.splice(0, steps.length, ...earlier, { file: file.file, outcome: 'left', note })
    if (!input.isSet('json'))
      terminal.report(printable(`${file.file}${isPartly ? '' : ' is left as it is'}: ${note}.`))
    return false
  }
  try {
    const current = await readCurrent(file.file)
    const undoing = await planUndo(journal, file, current)
    if (undoing.kind === 'done') {
      steps.push({ file: file.file, outcome: 'unchanged' })
      return true
    }
    const isForced = input.isSet('force')
    if (undoing.kind === 'edited' && !isForced)
      return leave(
        `${current ? 'its servers were edited' : 'it was deleted'} after "toolshelf connect --apply". Add --force to put the copy back${current ? '; your version is kept beside the records' : ''}`,
      )
    if (!(await mayUndo(context, file, current, undoing))) return leave('you did not agree')
    if (undoing.kind === 'edited' && current) {
      const name = `${Date.now()}-edited-${basename(file.file)}`
      terminal.report(printable(`Your edited version is saved as ${await journal.save(name, current)}.`))
    }
    const rights = undoing.kind === 'servers' ? undefined : file.rights
    await putBack(journal, file.file, current, undoing.content, rights)
    changed.add(file.file)
    const note = undoing.kind === 'servers' ? { note: 'edited since; only the servers went back' } : {}
    steps.push({ file: file.file, outcome: outcomeFor(undoing.content), ...note })
    return true
  } catch (error) {
    if (error instanceof CommandError) throw error
    const { code, message } = error as NodeJS.ErrnoException
    return leave(error instanceof ChangedMeanwhile ? message : `it cannot be written (${code ?? message})`)
  }
}

async function mayUndo(
  { input, terminal, machine }: Context,
  file: RecordedFile,
  current: Buffer | undefined,
  { kind, content }: Exclude<UndoPlan, { kind: 'done' }>,
): Promise<boolean> {
  const { clients, parts } = file
  if (!input.isSet('json')) {
    terminal.print(printable(`\n${clients.join(', ')}: ${file.file}`))
    const now = current?.toString() ?? ''
    const reversed = parts.map((part) => ({
      before: kind === 'edited' ? currentPart(now, part) : part.after,
      after: part.before,
    }))
    const back = await serversIn(file.file, content?.toString() ?? '', machine)
    const servers = [...back, ...(await serversIn(file.file, now, machine))]
    for (const line of changedLines(reversed, servers)) terminal.print(printable(`  ${line}`))
    if (kind === 'servers')
      terminal.print('  It was edited since; only the servers go back, and your edits stay.')
    if (kind === 'edited' && current) terminal.print('  Edits made since will be lost.')
  }
  if (input.isSet('yes')) return true
  if (!terminal.ask || input.isSet('json'))
    throw new CommandError(
      'cannot ask without a terminal, so nothing is put back. Run it in a terminal, or add --yes.',
    )
  return agrees(terminal, `Put ${printable(file.file)} back?`)
}

/** The servers of a text, to hide their secrets. */
async function serversIn(file: string, text: string, machine: LocalMachine): Promise<ServerConfig[]> {
  const { entries } = await readEntries({ file, text }, machine)
  return entries.map((entry) => readServer(entry, file, machine, keepReferences).server ?? unusable(entry))
}

/** An entry that cannot be used, or is the gateway's own, may hold secrets all the same. */
function unusable({ fields: { env, headers, args, url } }: ServerEntry): ServerConfig {
  const settings = Object.entries({ ...fieldsOf(env), ...fieldsOf(headers) })
  const texts = Object.fromEntries(settings.map(([name, value]) => [name, String(value)]))
  const transport = { kind: 'stdio', command: '', args: [...listOf(args), url].map(String), env: texts }
  return { transport } as unknown as ServerConfig
}

/** Says what happens to our own file if every client's file is put back. */
async function announceOwn({ journal, terminal }: Context, records: readonly ApplyRecord[]): Promise<void> {
  const owns = records.flatMap(({ files }) => files.filter(({ isOwn }) => isOwn))
  for (const file of new Set(owns.map((own) => own.file))) {
    const current = await readCurrent(file)
    let content = current
    for (const own of owns.filter((one) => one.file === file))
      if (content && contentHash(content) === own.after)
        content = own.copy === undefined ? undefined : await journal.copyOf(own)
    if (content === current) continue
    const what = content
      ? 'gets back its earlier content, too'
      : 'is deleted, too: "toolshelf connect --apply" created it'
    terminal.print(printable(`Once all are put back, ${file} ${what}.`))
  }
}

/** Restores our own file only if it was not edited since, because a server added meanwhile must not be lost. */
async function undoOwn(
  { journal, terminal, changed }: Context,
  record: ApplyRecord,
  steps: UndoStep[],
): Promise<void> {
  for (const own of record.files.filter(({ isOwn }) => isOwn)) {
    const current = await readCurrent(own.file)
    if (current && contentHash(current) === own.after) {
      const content = own.copy === undefined ? undefined : await journal.copyOf(own)
      await putBack(journal, own.file, current, content, own.rights)
      changed.add(own.file)
      steps.push({ file: own.file, outcome: outcomeFor(content) })
    } else if (current && contentHash(current) !== own.before)
      terminal.report(printable(`${own.file} was edited since; the servers stay in it.`))
    await journal.drop(record, [own])
  }
}

function outcomeFor(content: Buffer | undefined): UndoStep['outcome'] {
  return content === undefined ? 'deleted' : 'restored'
}

function finish(
  steps: readonly UndoStep[],
  named: readonly string[],
  { input, terminal, changed }: Context,
): 0 | 1 {
  const isLeft = steps.some(({ outcome }) => outcome === 'left')
  if (input.isSet('json')) terminal.print(toJson({ files: steps }))
  else {
    /** The last step of each file, which says how the file is now. */
    const done = new Map(
      steps.flatMap(({ file, outcome }) =>
        outcome === 'restored' || outcome === 'deleted' ? [[file, outcome] as const] : [],
      ),
    )
    for (const [file, outcome] of done)
      terminal.print(printable(`${outcome === 'deleted' ? 'Deleted' : 'Put back'} ${file}`))
    const where = named.length === 0 ? '' : ` in ${named.join(', ')}`
    if (changed.size > 0) terminal.print('Restart the clients.')
    else if (steps.length === 0)
      terminal.print(
        printable(`There is nothing to undo: no changes by "toolshelf connect --apply" are left${where}.`),
      )
    else if (!isLeft) terminal.print('There is nothing to undo: the files are as they were.')
  }
  return isLeft ? 1 : 0
}

/** How a file can be put back. */
type UndoPlan =
  /** It is already as it was. */
  | { readonly kind: 'done' }
  /** It is unchanged since `--apply`: the copy is restored byte for byte. Without content, there was no such file. */
  | { readonly kind: 'whole'; readonly content: Buffer | undefined }
  /** It was edited in other places: the servers are restored, and the edits stay. */
  | { readonly kind: 'servers'; readonly content: Buffer }
  /** Its servers were edited, or it was deleted: only the whole copy could be restored. */
  | { readonly kind: 'edited'; readonly content: Buffer | undefined }

/** Decides how to put a file back; `current` is its content now. */
async function planUndo(
  journal: Journal,
  file: RecordedFile,
  current: Buffer | undefined,
): Promise<UndoPlan> {
  const hash = contentHash(current)
  if (hash === file.before) return { kind: 'done' }
  const content = file.copy === undefined ? undefined : await journal.copyOf(file)
  if (hash === file.after) return { kind: 'whole', content }
  const restored =
    current && isUtf8(current) && file.parts.length > 0
      ? restoreServers(current.toString(), file.parts)
      : undefined
  return restored === undefined
    ? { kind: 'edited', content }
    : { kind: 'servers', content: Buffer.from(restored) }
}
