// Resolves the script that answers instead of a model: the built-in one, or the user's own file.
import { fileURLToPath } from 'node:url'
import { loadScript } from '@toolshelf/messages'
import type { ModelScript } from '@toolshelf/messages/internal'
import { UsageError } from './command.ts'

/** The name of the built-in script; a file of this name is `./demo`. */
const BUILT_IN_SCRIPT = 'demo'

/** Reads the script; `demo` is the built-in one. */
export async function readScriptNamed(name: string): Promise<ModelScript> {
  if (name === '') throw new UsageError('the script has no name; pass a file, or demo for the built-in one.')
  const builtIn = () => fileURLToPath(new URL('../examples/script.json', import.meta.url))
  return loadScript(name === BUILT_IN_SCRIPT ? builtIn() : name)
}
