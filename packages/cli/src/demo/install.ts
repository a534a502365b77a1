// Installs the demo's MCP servers with npm into the user's cache, once; later runs find them there.
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { defaultCacheFolder } from '@toolshelf/mcp/internal'
import spawn from 'cross-spawn'
import { CommandError } from '../command.ts'
import { printable } from '../terminal/pen.ts'
import { demoServers, folderWithAll, packagesBeside } from './servers.ts'

/** Options of `provideServers`. */
export type InstallOptions = {
  readonly notify: (message: string) => void
  readonly signal: AbortSignal
  /** Folders of packages to look in before anything is installed. */
  readonly beside?: readonly string[]
  readonly cache?: string
}

const MAX_INSTALL_MS = 5 * 60_000
const MAX_OUTPUT_LENGTH = 4000

/**
 * Returns the folder of packages that contains the servers, and installs them if necessary; undefined if the user
 * interrupted.
 */
export async function provideServers(options: InstallOptions): Promise<string | undefined> {
  const { notify, signal, beside = packagesBeside(), cache = cacheFolder() } = options
  const installed = join(cache, 'node_modules')
  const found = folderWithAll([...beside, installed])
  if (found !== undefined) return found
  const count = Object.keys(demoServers).length
  notify(`The demo installs its ${count} MCP servers from npm into ${cache}, once; this takes a minute.`)
  try {
    await mkdir(dirname(cache), { recursive: true })
    const unfinished = await mkdtemp(`${cache}-`)
    try {
      await writeFile(join(unfinished, 'package.json'), JSON.stringify(manifest()))
      await runNpm(unfinished, signal)
      if (folderWithAll([join(unfinished, 'node_modules')]) === undefined)
        throw new Error('npm succeeded, but a package does not contain what the demo starts')
      // A concurrent run has installed the same; remains of an older one are replaced.
      if (folderWithAll([installed]) === undefined) {
        await rm(cache, { recursive: true, force: true })
        await rename(unfinished, cache)
      }
    } finally {
      await rm(unfinished, { recursive: true, force: true })
    }
  } catch (error) {
    if (signal.aborted) return undefined
    throw new CommandError(
      `the demo's MCP servers could not be installed: ${printable((error as Error).message)}\nThey come from the npm registry: check that "npm" runs and reaches it ("npm ping"), then run the demo again.`,
    )
  }
  return installed
}

/** One folder per set of versions. */
function cacheFolder(): string {
  const versions = createHash('sha256').update(JSON.stringify(manifest())).digest('hex').slice(0, 8)
  return join(dirname(defaultCacheFolder()), `demo-servers-${versions}`)
}

/**
 * Pins zod as well, to the version of our package-lock.json: servers accept several, and the one that npm chooses
 * shapes the schemas of their tools, so that the figures would differ from those of a clone.
 */
function manifest(): object {
  const servers = Object.values(demoServers)
  return {
    private: true,
    dependencies: {
      ...Object.fromEntries(servers.map((server) => [server.package, server.version])),
      zod: '4.6.7',
    },
  }
}

/** None of the servers needs an install script. */
const NPM = [
  'install',
  '--global=false',
  '--ignore-scripts',
  '--no-package-lock',
  '--no-audit',
  '--no-fund',
  '--loglevel=error',
]

async function runNpm(cwd: string, signal: AbortSignal): Promise<void> {
  const bound = AbortSignal.any([signal, AbortSignal.timeout(MAX_INSTALL_MS)])
  const child = spawn('npm', NPM, { cwd, stdio: ['ignore', 'ignore', 'pipe'], signal: bound })
  let output = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-MAX_OUTPUT_LENGTH)
  })
  await new Promise<void>((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) =>
      reject(new Error(error.code === 'ENOENT' ? 'there is no command "npm"' : whyEnded(error))),
    )
    child.once('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`npm ended with code ${code}\n${gistOf(output)}`)),
    )
  })
}

/** Without the stack traces that npm prints. */
function gistOf(output: string): string {
  const lines = output.split('\n').filter((line) => /^npm error \S/.test(line) && !/^npm error \}/.test(line))
  return lines.slice(0, MAX_LINES).join('\n')
}

const MAX_LINES = 6

function whyEnded({ name, message }: Error): string {
  return name === 'AbortError' ? `npm took longer than ${MAX_INSTALL_MS / 60_000} minutes` : message
}
