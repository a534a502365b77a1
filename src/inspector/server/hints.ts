// Saves a tool's hint in the user's configuration: shows the difference first, and keeps comments, formatting and rights
// of the file.
import { readFile, realpath, stat } from 'node:fs/promises'
import { cut, errorMessage, type Fields } from '../../lib/index.ts'
import { readEntries, setJsonValue, thisMachine } from '../../mcp/config/index.ts'
import type { ServerConfig } from '../../mcp/index.ts'
import { createTextRedactor } from '../../mcp/redact/index.ts'
import { JsonFile } from '../../node/index.ts'
import type { HintView } from '../api.ts'
import { InspectorFailure, MAX_NAME_LENGTH, readText } from './read-input.ts'
import type { ManagedServers } from './types.ts'
import { unifiedDiff } from './unified-diff.ts'

const MAX_HINT_LENGTH = 500

/** Returns the change that a hint would make, or makes it if it is confirmed. */
export async function saveHint(servers: ManagedServers, input: Fields): Promise<HintView> {
  const { shelf, manage } = servers
  const { configs, editable = [] } = manage
  const name = readText(input.tool, 'tool', MAX_NAME_LENGTH)
  const hint = readText(input.hint, 'hint', MAX_HINT_LENGTH)
  if (/\p{Cc}/u.test(hint)) throw new InspectorFailure(400, 'a hint is one line of plain text')
  const entry = shelf.partition().pool.byName.get(name)
  const config = configs().find((one) => one.name === entry?.server)
  if (!entry || !config) throw new InspectorFailure(404, `there is no tool "${cut(name, 100)}"`)
  const { source } = config
  if (!editable.includes(source))
    throw new InspectorFailure(
      400,
      `${source} is not your own configuration; copy the server to it with "toolshelf connect"`,
    )
  try {
    const target = await realpath(source)
    const edit = (text: string) => withHint(text, config, entry.original, hint)
    const before = await readFile(target, 'utf8')
    const after = await edit(before)
    const redact = createTextRedactor(configs())
    const diff = redact(unifiedDiff(source, before, after))
    if (input.isConfirmed !== true) return { file: source, diff, isWritten: false }
    await write(target, edit)
    return { file: source, diff, isWritten: true }
  } catch (error) {
    if (error instanceof InspectorFailure) throw error
    throw new InspectorFailure(400, `${source} cannot be changed: ${cut(errorMessage(error), 500)}`)
  }
}

async function withHint(text: string, config: ServerConfig, tool: string, hint: string): Promise<string> {
  const { source } = config
  const name = config.original ?? config.name
  if (source.endsWith('.toml')) throw new Error('hints are saved in JSON files only')
  const machine = thisMachine()
  const placeIn = async (content: string) => {
    const { entries } = await readEntries({ file: source, text: content }, machine)
    return entries.find((entry) => entry.name === name)
  }
  const place = await placeIn(text)
  if (!place) throw new Error(`it has no server "${name}" any more`)
  const changed = setJsonValue(text, [...place.path, 'tools', tool, 'hint'], hint)
  const tools = (await placeIn(changed))?.fields.tools as Fields | undefined
  if ((tools?.[tool] as Fields | undefined)?.hint !== hint) throw new Error('the hint could not be placed')
  return changed
}

/** One process at a time; the text may have changed since it was shown. */
async function write(target: string, edit: (text: string) => Promise<string>): Promise<void> {
  const file = new JsonFile(target)
  await file.alone(async () => {
    const { mode, uid, gid } = await stat(target)
    await file.write(await edit(await readFile(target, 'utf8')), { mode: mode & 0o7777, uid, gid })
  })
}
