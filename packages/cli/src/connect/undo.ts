// Decides how a file that `connect --apply` changed can be put back, by comparing it with what was written.
import { isUtf8 } from 'node:buffer'
import { restoreServers } from '@toolshelf/mcp/internal'
import { contentHash, type Journal, type RecordedFile } from './journal.ts'

/** How a file can be put back. */
export type UndoPlan =
  /** It is already as it was. */
  | { readonly kind: 'done' }
  /** It is unchanged since `--apply`: the copy is restored byte for byte. Without content, there was no such file. */
  | { readonly kind: 'whole'; readonly content: Buffer | undefined }
  /** It was edited in other places: the servers are restored, and the edits stay. */
  | { readonly kind: 'servers'; readonly content: Buffer }
  /** Its servers were edited, or it was deleted: only the whole copy could be restored. */
  | { readonly kind: 'edited'; readonly content: Buffer | undefined }

/** Decides how to put a file back; `current` is its content now. */
export async function planUndo(
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
