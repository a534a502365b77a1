// Counts the project's files in which a function runs during a piece of work, by V8's precise coverage.
import { Session } from 'node:inspector/promises'
import { pathToFileURL } from 'node:url'

const root = pathToFileURL(`${process.cwd()}/`).href
const session = new Session()
session.connect()

/** What ran in one file: its functions with the number of their calls. */
type FileWalk = { readonly path: string; readonly functions: readonly string[]; readonly calls: number }

const isOurs = (url: string) =>
  url.startsWith(root) && !url.includes('/node_modules/') && !url.includes('/scripts/walk/')

async function takeFiles(): Promise<FileWalk[]> {
  const { result } = await session.post('Profiler.takePreciseCoverage')
  return result
    .filter(({ url }) => isOurs(url))
    .map(({ url, functions }) => {
      // All but the module itself, which starts at 0 and has no name.
      const ran = functions.filter(
        ({ functionName, ranges: [whole] }) =>
          whole && whole.count > 0 && (functionName !== '' || whole.startOffset > 0),
      )
      return {
        path: url.slice(root.length).replace(/\?.*/, ''),
        functions: ran.map(
          ({ functionName, ranges: [whole] }) => `${functionName || '(anonymous)'}×${whole?.count}`,
        ),
        calls: ran.reduce((sum, { ranges: [whole] }) => sum + (whole?.count ?? 0), 0),
      }
    })
    .filter(({ functions }) => functions.length > 0)
}

/** Does the work and prints `walk <name>: …`; with `--files` also every file. Resolves with what the work returned. */
export async function walk<Value>(name: string, work: () => Promise<Value>): Promise<Value> {
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await takeFiles()
  const value = await work()
  // What the work left behind for the next turns of the event loop belongs to it.
  await new Promise((resolve) => setTimeout(resolve, 50))
  const files = await takeFiles()
  await session.post('Profiler.stopPreciseCoverage')
  const functions = files.reduce((sum, file) => sum + file.functions.length, 0)
  const calls = files.reduce((sum, file) => sum + file.calls, 0)
  console.log(`walk ${name}: ${files.length} files, ${functions} functions, ${calls} calls`)
  if (process.argv.includes('--files'))
    for (const file of files.toSorted((a, b) => a.path.localeCompare(b.path)))
      console.log(`  ${file.path}: ${file.functions.join(' ')}`)
  return value
}
