// The scripts that answer in place of a model: the one that comes with Toolshelf, or a person's own.
import { fileURLToPath } from 'node:url'
import { loadScript, type Script } from '../messages/upstream/index.ts'

/** Names the script of the package; a file of this name is `./demo`. */
export const BUILT_IN_SCRIPT = 'demo'

export function readScriptNamed(name: string): Promise<Script> {
  const builtIn = () => fileURLToPath(new URL('../../examples/script.json', import.meta.url))
  return loadScript(name === BUILT_IN_SCRIPT ? builtIn() : name)
}
