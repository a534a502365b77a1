// Ratel's SDK as a peer. It is not a dependency of the project: the bench installs it into its cache folder on demand.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type { PoolTool, Rank } from '../../packages/core/src/index.ts'

/** The newest first; the next is tried where one cannot be installed or loaded, because it has native parts. */
const VERSIONS = ['0.8.0', '0.4.1', '0.1.5']
const TIMEOUT_MS = 180_000

const run = promisify(execFile)

export type RatelPeer = {
  /** With the version that runs; undefined if none does. */
  readonly peer?: { readonly name: string; readonly rank: Rank }
  /** Why newer versions, or all, were left out. */
  readonly skipped: readonly { readonly name: string; readonly reason: string }[]
}

/** Installs and loads the newest version that runs on this machine. */
export async function loadRatel(folder: string): Promise<RatelPeer> {
  const skipped: { name: string; reason: string }[] = []
  for (const version of VERSIONS) {
    const name = `Ratel ${version}`
    try {
      return {
        peer: { name, rank: rankWith(await install(join(folder, `ratel-${version}`), version)) },
        skipped,
      }
    } catch (error) {
      skipped.push({ name, reason: reasonOf(error) })
    }
  }
  return { skipped }
}

type Catalog = {
  register(tool: object): unknown
  search(query: string, limit: number): { readonly toolId: string }[]
}
type Sdk = { readonly ToolCatalog: new () => Catalog }

async function install(folder: string, version: string): Promise<Sdk> {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}\n')
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--loglevel=error']
  const entry = () => createRequire(join(folder, 'package.json')).resolve('@ratel-ai/sdk')
  if (!existsSync(join(folder, 'node_modules/@ratel-ai/sdk'))) {
    const words = ['install', ...options, `@ratel-ai/sdk@${version}`]
    await run('npm', words, { cwd: folder, timeout: TIMEOUT_MS })
  }
  const url = pathToFileURL(entry()).href
  // A native part that does not fit this machine fails in a process of its own first.
  const trial = ['--input-type=module', '--eval', `await import(${JSON.stringify(url)})`]
  await run(process.execPath, trial, { cwd: folder, timeout: TIMEOUT_MS })
  return (await import(url)) as Sdk
}

function rankWith({ ToolCatalog }: Sdk): Rank {
  const catalogs = new WeakMap<readonly PoolTool[], Promise<Catalog>>()
  const build = async (tools: readonly PoolTool[]) => {
    const catalog = new ToolCatalog()
    for (const [place, { name, tool }] of tools.entries())
      await catalog.register({
        id: String(place),
        name,
        description: String(tool.description ?? ''),
        inputSchema: tool.input_schema ?? tool.inputSchema ?? { type: 'object' },
        outputSchema: {},
        execute: () => undefined,
      })
    return catalog
  }
  return async (tools, query, limit) => {
    const known = catalogs.get(tools) ?? build(tools)
    catalogs.set(tools, known)
    const hits = (await known)
      .search(query, limit)
      .map(({ toolId }) => ({ tool: tools[Number(toolId)]!, score: 1 }))
    return { hits, matched: hits.length }
  }
}

/** The line of npm's or the loader's complaint that says most. */
function reasonOf(error: unknown): string {
  const lines = (error instanceof Error ? error.message : String(error)).split('\n')
  const telling = lines.find((line) => /notarget|GLIBC|ENOTFOUND|ETIMEDOUT/.test(line)) ?? lines[0] ?? ''
  return telling
    .replace(/^.*?(?:notarget|Error:) /, '')
    .replaceAll(/\/\S+\//g, '')
    .replaceAll('`', "'")
    .replace(/\.$/, '')
    .slice(0, 120)
}
