// The command line as a process of its own.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** The bundle that `npm run build` left, or another one that TOOLSHELF_BINARY names. */
export const built = process.env.TOOLSHELF_BINARY ?? join(root, 'packages/cli/dist/main.js')

/** Arguments of Node that start the binary as it is published; its source where it was not built. */
export const binary: readonly string[] = existsSync(built)
  ? [built]
  : ['--import', import.meta.resolve('tsx'), join(root, 'packages/cli/src/main.ts')]
