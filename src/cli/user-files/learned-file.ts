// Stores which calls searches led to in `learned.jsonl`, one per line; skips damaged lines.
import { randomUUID } from 'node:crypto'
import { appendFileSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fieldsOf, isFields, listOf, textOf } from '../../lib/index.ts'
import { createLearnedSearch, type LearnedSearch, type SavedSearchUse } from '../../search/index.ts'
import { CommandError } from '../command.ts'
import { dataFolder } from './session-files.ts'

/** Far more than a full memory takes; a larger file is rewritten. */
const MAX_BYTES = 500_000
/** Most bytes that are read: something else may have filled the file. */
const MAX_READ = 20_000_000

/** Most characters of a word or name; none that we wrote is longer. */
const MAX_TEXT_LENGTH = 1000

/** Returns the path of the file. */
export function learnedFile(): string {
  return join(dataFolder(), 'learned.jsonl')
}

/** Opens the learned searches. Without a readable or writable file, learning lasts as long as the process. */
export function openLearnedSearch(file: string, notify: (message: string) => void): LearnedSearch {
  let isBroken = false
  const guarded = (work: () => void) => {
    if (isBroken) return
    try {
      work()
    } catch (error) {
      isBroken = true
      notify(`cannot save learned searches: ${(error as Error).message}`)
    }
  }
  let size = 0
  let uses: SavedSearchUse[] = []
  guarded(() => {
    size = sizeOf(file)
    if (size > MAX_READ) throw tooLarge(file, size)
    if (size > 0) uses = readUses(readFileSync(file, 'utf8'))
  })
  const learned = createLearnedSearch({
    uses,
    onUse: (use) => guarded(() => append(file, use)),
  })
  if (size > MAX_BYTES) guarded(() => replaceFile(file, learned.uses()))
  return learned
}

/** Deletes the learned searches; returns how many, or undefined if the file was too large to count them. */
export function forgetLearnedSearches(file: string): number | undefined {
  const count = sizeOf(file) > MAX_READ ? undefined : learnedUses(file).length
  rmSync(file, { force: true })
  return count
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

function tooLarge(file: string, size: number): CommandError {
  return new CommandError(`${file} has ${size} bytes, more than ${MAX_READ}; delete it to start over`)
}

/** Reads the file, oldest first. Throws if it is too large to be ours. */
export function learnedUses(file: string): readonly SavedSearchUse[] {
  const size = sizeOf(file)
  if (size === 0) return []
  if (size > MAX_READ) throw tooLarge(file, size)
  try {
    return createLearnedSearch({ uses: readUses(readFileSync(file, 'utf8')) }).uses()
  } catch (error) {
    throw new CommandError(`cannot read ${file}: ${(error as Error).message}`)
  }
}

function append(file: string, use: SavedSearchUse): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  appendFileSync(file, `${JSON.stringify(use)}\n`, { mode: 0o600 })
}

function replaceFile(file: string, uses: readonly SavedSearchUse[]): void {
  const temporary = `${file}.${randomUUID()}`
  try {
    writeFileSync(temporary, uses.map((use) => `${JSON.stringify(use)}\n`).join(''), { mode: 0o600 })
    renameSync(temporary, file)
  } finally {
    rmSync(temporary, { force: true })
  }
}

function readUses(text: string): SavedSearchUse[] {
  return text.split('\n').flatMap((line) => {
    try {
      const parsed: unknown = line === '' ? undefined : JSON.parse(line)
      return isFields(parsed) ? asUse(parsed) : []
    } catch {
      return []
    }
  })
}

function asUse(parsedLine: object): SavedSearchUse[] {
  const { words, server, tool, definition, weight } = fieldsOf(parsedLine)
  const stems = listOf(words).map(textOf).filter(Boolean).slice(0, 12)
  const isUsable = stems.length > 0 && textOf(tool) !== '' && textOf(definition) !== ''
  const texts = [...stems, textOf(server), textOf(tool), textOf(definition)]
  if (texts.some((text) => text.length > MAX_TEXT_LENGTH)) return []
  if (!isUsable || typeof weight !== 'number' || !(weight > 0 && weight <= 1)) return []
  return [
    { words: stems, server: textOf(server), tool: textOf(tool), definition: textOf(definition), weight },
  ]
}
