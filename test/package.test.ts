// The packages as users get them: installed in an empty project, run and type-checked there. npm takes many CPU seconds to
// pack and install them, so by default what was built is copied; with TEST_EFFORT above 1, npm does it.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { docExamples } from '../packages/testkit/src/doc-examples.ts'
import { isThorough } from '../packages/testkit/src/runs.ts'
import { lightPackages } from './cli/light-demo.ts'
import { prepareClients } from './clients/install.ts'
import { scriptPath } from './mcp/support/servers.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
/** Folders of the public packages, by their names. */
const packages: Record<string, string> = {
  '@toolshelf/core': 'core',
  '@toolshelf/scripts': 'scripts',
  '@toolshelf/messages': 'messages',
  '@toolshelf/mcp': 'mcp',
  '@toolshelf/agent': 'agent',
  '@toolshelf/server': 'server',
  toolshelf: 'cli',
}
const distOf = (name: string) => join(root, 'packages', packages[name] ?? '', 'dist')
const manifest = JSON.parse(readFileSync(join(root, 'packages/cli/package.json'), 'utf8'))
const tsc = join(root, 'node_modules/typescript/bin/tsc')
/** README.md names it. */
const OLDEST_TYPESCRIPT = '5.0.4'
const { missing, file } = await prepareClients()

const shelf = `createShelf({
  tools: [
    { name: 'Read', description: 'Read a file', input_schema: { type: 'object' } },
    { name: 'send_message', server: 'slack', description: 'Send a message', input_schema: { type: 'object' } },
  ],
})`
const request = `{ model: 'claude-opus-4-6', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] }`

const typedUse = `
import type Anthropic from '@anthropic-ai/sdk'
import { createShelf } from '@toolshelf/core'
import * as core from '@toolshelf/core/pure'
import * as oracle from '@toolshelf/messages/oracle'

export const surfaces = [core, oracle]
export async function ask(client: Anthropic): Promise<Anthropic.Message> {
  const shelf = ${shelf}
  const prepared = await shelf.prepare(${request})
  const message = await client.messages.create(prepared.request)
  const { model, max_tokens } = prepared.request
  // @ts-expect-error: a history cannot be sent
  await client.messages.create({ model, max_tokens, messages: prepared.history })
  await client.messages.create({ model, max_tokens, messages: shelf.sendable(prepared.history) })
  const stopReason: Anthropic.StopReason | null = message.stop_reason
  console.log(stopReason)
  return message
}
`

const everyEntry = `
import * as root from '@toolshelf/core'
import * as agent from '@toolshelf/agent'
import * as core from '@toolshelf/core/pure'
import * as mcp from '@toolshelf/mcp'
import * as messages from '@toolshelf/messages'
import * as oracle from '@toolshelf/messages/oracle'

export const surfaces = [root, agent, core, mcp, messages, oracle]
`

/** All declarations are checked but those of TypeScript's own library, which are not ours. */
const strictly = {
  strict: true,
  noEmit: true,
  target: 'es2022',
  module: 'nodenext',
  skipDefaultLibCheck: true,
}
const tsconfig = {
  compilerOptions: { ...strictly, lib: ['es2023', 'dom'], types: [] },
  files: ['use.ts'],
}
const entriesTsconfig = {
  compilerOptions: { ...strictly, lib: ['es2022'], types: ['node'] },
  files: ['entries.ts', 'examples.ts'],
}

let project: string
/** Where the package is installed. */
let place: string
/** Its files, as paths below `place`. */
let paths: string[]

/** Runs a command; a failure shows everything the command printed. */
function run(command: string, args: string[], cwd: string, env = process.env): string {
  try {
    return execFileSync(command, args, {
      cwd,
      env,
      encoding: 'utf8',
      shell: process.platform === 'win32' && command === 'npm',
    })
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}\n${stderr}`)
  }
}

beforeAll(() => {
  if (!existsSync(join(distOf('toolshelf'), 'main.js'))) run('npm', ['run', 'build'], root)
  project = mkdtempSync(join(tmpdir(), 'toolshelf-'))
  writeFileSync(
    join(project, 'package.json'),
    JSON.stringify({ name: 'user', private: true, type: 'module' }),
  )
  place = join(project, 'node_modules/toolshelf')
  if (isThorough) installWithNpm()
  else
    for (const name of Object.keys(packages))
      cpSync(distOf(name), join(project, 'node_modules', name), { recursive: true })
  paths = readdirSync(place, { recursive: true, encoding: 'utf8' })
    .map((path) => path.split(sep).join('/'))
    .filter((path) => statSync(join(place, path)).isFile())
  // What we have already need not be installed again.
  linkPackage('@anthropic-ai/sdk')
})

function linkPackage(name: string): void {
  const link = join(project, 'node_modules', name)
  mkdirSync(dirname(link), { recursive: true })
  symlinkSync(join(root, 'node_modules', name), link, 'junction')
}

function installWithNpm(): void {
  const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error']
  // npm packs the folder as `npm pack` does. With scripts it would build again under the feet of the other tests.
  const packing = ['--install-links', '--ignore-scripts']
  run('npm', ['install', ...Object.keys(packages).map(distOf), ...packing, ...quiet], project)
}

afterAll(() => {
  if (project) rmSync(project, { recursive: true, force: true })
})

describe('the packed package', () => {
  test('holds the built files and papers only, and is small', () => {
    const known =
      /^((main|(src|chunks)\/[\w-]+)\.js|src\/page\.css|src\/quickjs\.wasm|THIRD-PARTY-LICENSES\.txt|(README|CHANGELOG)\.md|LICENSE|data\/((meaning|bridge)\.bin|NOTICE|LICENSE-APACHE-2\.0)|examples\/script\.json|package\.json)$/
    expect(paths.filter((path) => !known.test(path) || /\.test\./.test(path))).toEqual([])
    expect(paths).toContain('main.js')
    const size = paths.reduce((sum, path) => sum + statSync(join(place, path)).size, 0)
    expect(size).toBeLessThan(16_000_000)
  })

  test('installs no other package; the encoder is an optional peer', () => {
    const { devDependencies, ...fields } = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8'))
    expect(fields).toMatchObject({ version: manifest.version })
    const wanted = Object.keys(fields).filter((field) => /dependencies/i.test(field))
    expect(wanted).toEqual(['peerDependencies', 'peerDependenciesMeta'])
    for (const name of Object.keys(fields.peerDependencies))
      expect(fields.peerDependenciesMeta[name]).toEqual({ optional: true })
    if (!isThorough) return
    // What npm made of it.
    const { packages } = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8'))
    const installed = packages['node_modules/toolshelf']
    expect(Object.keys(installed).filter((field) => /dependencies/i.test(field))).toEqual(wanted)
    expect(Object.keys(packages).filter((path) => path.includes('@lat.md'))).toEqual([])
  })

  test('gives the licence of every package whose code it holds', () => {
    const licences = readFileSync(join(place, 'THIRD-PARTY-LICENSES.txt'), 'utf8')
    const listed = licences.split(`\n\n${'-'.repeat(80)}\n\n`).slice(1)
    const names = new Set(listed.map((part) => part.split(' ')[0]))
    for (const name of ['ink', '@modelcontextprotocol/server', 're2js', 'ajv']) expect(names).toContain(name)
    expect(listed.filter((part) => !/permi|Apache License|public domain/i.test(part))).toEqual([])
  })

  test.each(Object.keys(packages))('%s has a sound package.json', async (name) => {
    const pkgDir = join(project, 'node_modules', name)
    const { messages, pkg } = await publint({ pkgDir, pack: false, level: 'warning' })
    expect(messages.map((message) => formatMessage(message, pkg ?? {}))).toEqual([])
  })

  test('the root needs no types of Node', () => {
    writeFileSync(join(project, 'plain.ts'), "export { createShelf } from '@toolshelf/core'\n")
    writeFileSync(join(project, 'tsconfig.plain.json'), JSON.stringify({ ...tsconfig, files: ['plain.ts'] }))
    expect(run(process.execPath, [tsc, '-p', 'tsconfig.plain.json', '--checkers', '1'], project)).toBe('')
  })

  test('type-checks strictly and fits the SDK', () => {
    writeFileSync(join(project, 'use.ts'), typedUse)
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(tsconfig))
    expect(run(process.execPath, [tsc, '-p', '.', '--checkers', '1'], project)).toBe('')
  })

  test.skipIf(missing !== undefined)(`TypeScript ${OLDEST_TYPESCRIPT} reads every declaration`, () => {
    expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain('TypeScript 5.0 or newer')
    const old = createRequire(import.meta.url)(file('typescript'))
    expect(old.version).toBe(OLDEST_TYPESCRIPT)
    const scope = join(project, 'node_modules/@toolshelf')
    const types = readdirSync(scope, { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.endsWith('.d.ts'),
    )
    expect(types.length).toBeGreaterThan(50)
    const wrong = types.filter((path) => {
      const source = old.createSourceFile(
        path,
        readFileSync(join(scope, path), 'utf8'),
        old.ScriptTarget.ES2022,
      )
      return source.parseDiagnostics.length > 0
    })
    expect(wrong).toEqual([])
  })

  test('every entry type-checks strictly, and so does every example of its doc comments', () => {
    linkPackage('@types/node')
    writeFileSync(join(project, 'entries.ts'), everyEntry)
    const { count, module } = docExamples()
    expect(count).toBeGreaterThan(30)
    writeFileSync(join(project, 'examples.ts'), module)
    writeFileSync(join(project, 'tsconfig.entries.json'), JSON.stringify(entriesTsconfig))
    expect(run(process.execPath, [tsc, '-p', 'tsconfig.entries.json', '--checkers', '1'], project)).toBe('')
    // The oldest takes three times as long.
    if (!isThorough || missing !== undefined) return
    const oldTsc = file('typescript/bin/tsc')
    expect(run(process.execPath, [oldTsc, '-p', 'tsconfig.entries.json'], project)).toBe('')
  })
})

describe('the installed command line, in an empty folder', () => {
  const toolshelf = (words: readonly string[], env: NodeJS.ProcessEnv = {}) => {
    const folder = join(project, 'empty')
    const home = join(project, 'home')
    for (const one of [folder, home]) mkdirSync(one, { recursive: true })
    const main = join(place, 'main.js')
    const { XDG_CACHE_HOME, XDG_STATE_HOME, XDG_CONFIG_HOME, ...inherited } = process.env
    return run(process.execPath, [main, ...words], folder, { ...inherited, HOME: home, ...env })
  }

  const isWindows = process.platform === 'win32'

  // The demo does both: it plays the script, and searches.
  test.runIf(isThorough || isWindows)('answers from the built-in script', () => {
    expect(toolshelf(['run', 'hello', '--script', 'demo'])).toContain('I am a script, not a model')
  })

  test.runIf(isThorough || isWindows)('searches the servers of a configuration', () => {
    const config = join(project, 'mcp.json')
    const calculator = { command: process.execPath, args: [scriptPath('healthy')] }
    writeFileSync(config, JSON.stringify({ mcpServers: { calculator } }))
    const { hits } = JSON.parse(toolshelf(['search', 'add two numbers', '--config', config, '--json']))
    expect(hits[0]).toMatchObject({ name: 'add', server: 'calculator' })
  })

  test.skipIf(isWindows)('plays the demo with servers that npm installs once', () => {
    const bin = join(project, 'bin')
    mkdirSync(bin)
    const npm = join(bin, 'npm')
    // In place of the registry; test/cli/demo.test.ts has the demo with the real servers.
    const packages = lightPackages(join(project, 'demo-packages'))
    writeFileSync(npm, `#!/bin/sh\necho "$@" >> "${project}/npm.log"\nln -s "${packages}" node_modules\n`)
    chmodSync(npm, 0o755)
    const { total } = JSON.parse(toolshelf(['demo', '--json'], { PATH: `${bin}:${process.env.PATH}` }))
    expect(total.tools).toBeGreaterThan(40)
    expect(total.searches).toBeGreaterThan(0)
    expect(readFileSync(join(project, 'npm.log'), 'utf8')).toMatch(/^install .*--ignore-scripts/)
  })
})
