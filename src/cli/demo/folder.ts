// A folder for as long as the demo plays: it is gone however that ends, also where nobody reads any further.
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
