// Measures the time from spawn to the first useful output: the bundled command line, compared with the same sources compiled file by file with
// packages in node_modules, as the package was before it was bundled. `npm run bench start [rounds]`, after `npm run build`.
import { execFileSync, spawn } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cpuOf, start } from './mcp-processes.ts'
import { ratio, takeTurns, type Ways } from './mcp-turns.ts'
import { median, report, table } from './report.ts'

type Measured = { readonly ms: number; readonly cpuMs: number }

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const rounds = Number(process.argv[2] ?? 9)
const folder = mkdtempSync(join(tmpdir(), 'toolshelf-start-'))
const env = {
  PATH: process.env.PATH ?? '',
  HOME: folder,
  XDG_CACHE_HOME: join(folder, 'cache'),
  XDG_STATE_HOME: join(folder, 'state'),
}
const config = join(folder, 'mcp.json')
const server = 'node_modules/@modelcontextprotocol/server-everything/dist/index.js'

/** Writes the CPU that the process has used by its end. */
const TELL_CPU =
  'data:text/javascript,import{writeSync}from"node:fs";process.on("exit",()=>{const{user,system}=process.cpuUsage();writeSync(2,"cpu "+(user+system)/1000)})'

try {
  const everything = { command: process.execPath, args: [join(ROOT, server)] }
  writeFileSync(config, JSON.stringify({ mcpServers: { everything } }))
  const builds = { separate: compileSeparately(), bundled: join(ROOT, 'dist') }
  const starts: [string, (dist: string) => Promise<Measured>][] = [
    ['toolshelf --version', async (dist) => runToEnd([join(dist, 'cli/main.js'), '--version'])],
    ["import 'toolshelf'", async (dist) => importing(join(dist, 'index.js'))],
    ['mcp, first tools/list', firstToolsList],
    ['serve, listening', untilListening],
  ]
  const rows: string[][] = []
  for (const [name, measure] of starts) {
    const ways: Ways<Measured> = new Map(
      Object.entries(builds).map(([build, dist]) => [build, () => measure(dist)]),
    )
    await takeTurns(ways, 1)
    const [separate = [], bundled = []] = [...(await takeTurns(ways, rounds)).values()]
    rows.push([name, ...compared(separate, bundled, 'ms'), ...compared(separate, bundled, 'cpuMs')])
  }
  report('Start', 'npm run bench start', [
    `Medians of ${rounds} starts in turns; CPU of the process itself. Separate: the same sources compiled file by file, packages in node_modules.`,
    '',
    ...table(['', 'separate ms', 'bundled ms', 'ratio', 'separate CPU ms', 'bundled CPU ms', 'ratio'], rows),
  ])
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** A package folder with its own dist/, and everything else shared with this one. */
function compileSeparately(): string {
  const dist = join(folder, 'dist')
  const options = ['--emitDeclarationOnly', 'false', '--declaration', 'false', '--outDir', dist]
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [tsc, '-p', join(ROOT, 'tsconfig.build.json'), ...options])
  for (const name of ['node_modules', 'data']) symlinkSync(join(ROOT, name), join(folder, name))
  copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  return dist
}

function compared(before: readonly Measured[], after: readonly Measured[], figure: keyof Measured): string[] {
  const [old, now] = [before, after].map((all) => median(all.map((one) => one[figure]))) as [number, number]
  return [old.toFixed(0), now.toFixed(0), ratio(now, old)]
}

async function runToEnd(args: readonly string[]): Promise<Measured> {
  const begin = performance.now()
  const child = spawn(process.execPath, ['--import', TELL_CPU, ...args], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => {
    said += String(chunk)
  })
  const code = await new Promise((resolve) => child.once('close', resolve))
  const cpuMs = Number(/cpu ([\d.]+)$/.exec(said)?.[1])
  if (code !== 0 || !(cpuMs > 0)) throw new Error(`bench start: ${args.join(' ')} failed: ${said}`)
  return { ms: performance.now() - begin, cpuMs }
}

function importing(file: string): Promise<Measured> {
  return runToEnd(['--input-type=module', '-e', `await import(${JSON.stringify(file)})`])
}

async function firstToolsList(dist: string): Promise<Measured> {
  const args = [join(dist, 'cli/main.js'), 'mcp', '--config', config]
  const started = await start({ command: process.execPath, args, env })
  await started.client.listTools()
  const measured = { ms: started.age(), cpuMs: 1000 * cpuOf([started.pid]) }
  await started.end()
  return measured
}

async function untilListening(dist: string): Promise<Measured> {
  const begin = performance.now()
  const args = [join(dist, 'cli/main.js'), 'serve', '--upstream', 'http://127.0.0.1:9', '--port', '0']
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  try {
    await new Promise<void>((resolve, reject) => {
      let said = ''
      child.stderr.on('data', (chunk: Buffer) => {
        said += String(chunk)
        if (said.includes('ready at')) resolve()
      })
      child.once('close', () => reject(new Error(`bench start: serve did not start: ${said}`)))
    })
    return { ms: performance.now() - begin, cpuMs: 1000 * cpuOf([child.pid!]) }
  } finally {
    child.kill('SIGKILL')
  }
}
