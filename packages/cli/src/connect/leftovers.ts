// Deletes the unfinished files that `connect` left beside the files it was writing when it was killed.
import { lstat, readdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isTemporaryFor } from '@toolshelf/core/internal/node'
import type { Journal } from './journal.ts'

/** Longer than any write takes: another command may be writing our own file. */
const MIN_AGE_MS = 10_000

/**
 * Deletes what is left beside the files of all records and beside our own file. It only has names that Toolshelf gives, and a
 * client's file is only written by the `connect` that holds the journal. Never rejects.
 */
export async function deleteLeftovers(journal: Journal, ourFile: string): Promise<void> {
  try {
    const files = (await journal.records()).flatMap((record) => record.files)
    const ours = files.filter(({ isOwn }) => isOwn).map(({ file }) => file)
    for (const file of new Set([ourFile, ...ours])) await deleteBeside(file, MIN_AGE_MS)
    if (files.length === 0) return
    await journal.alone(async () => {
      const clients = files.filter(({ isOwn }) => !isOwn).map(({ file }) => file)
      for (const file of new Set(clients)) await deleteBeside(file, 0)
    })
  } catch {
    // A later step reports what cannot be read or written.
  }
}

async function deleteBeside(file: string, minAgeMs: number): Promise<void> {
  const folder = dirname(file)
  const names = await readdir(folder).catch(() => [])
  for (const name of names.filter((one) => isTemporaryFor(one, basename(file)))) {
    const path = join(folder, name)
    const status = await lstat(path).catch(() => undefined)
    if (status?.isFile() && Date.now() - status.mtimeMs >= minAgeMs)
      await rm(path, { force: true }).catch(() => {})
  }
}
