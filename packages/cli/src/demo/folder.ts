// A temporary folder for the demo, removed however the demo ends, even if its output is closed.
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export async function temporaryFolder(): Promise<{ readonly folder: string; readonly remove: () => void }> {
  const folder = await mkdtemp(join(tmpdir(), 'toolshelf-demo-'))
  const remove = () => {
    process.off('exit', remove)
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  process.once('exit', remove)
  return { folder, remove }
}
