// The packages as users get them: each in a project of its own that has nothing but what it depends on, run and type-checked
// there. npm takes many CPU seconds to pack and install them, so by default what was built is copied and the rest is linked;
// with TEST_EFFORT above 1, npm does it.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { docExamples } from '../packages/testkit/src/doc-examples.ts'
import { isThorough } from '../packages/testkit/src/runs.ts'
import { lightPackages } from './cli/light-demo.ts'
import { prepareClients } from './clients/install.ts'
import { scriptPath } from './mcp/support/servers.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const tsc = join(root, 'node_modules/typescript/bin/tsc')
/** README.md names it. */
const OLDEST_TYPESCRIPT = '5.0.4'
const { missing, file } = await prepareClients()

type Dependencies = { readonly [name: string]: string }
type Manifest = {
  readonly name: string
  readonly version: string
  readonly private?: boolean
  readonly exports: { readonly [door: string]: string }
  readonly dependencies?: Dependencies
}
type Public = {
  readonly name: string
  readonly folder: string
  readonly dist: string
  readonly manifest: Manifest
}

const packages: readonly Public[] = readdirSync(join(root, 'packages')).flatMap((name) => {
  const folder = join(root, 'packages', name)
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  return manifest.private ? [] : [{ name: manifest.name, folder, dist: join(folder, 'dist'), manifest }]
})
const packageOf = (name: string) => packages.find((one) => one.name === name)
const dependenciesOf = (name: string) => packageOf(name)?.manifest.dependencies ?? {}
/** Ours that a package depends on. */
const oursOf = (name: string) => Object.keys(dependenciesOf(name)).filter((one) => packageOf(one))

/** The most that each may take, in bytes. */
const MAX_SIZE: { readonly [name: string]: number } = {
  '@toolshelf/core': 6_000_000,
  toolshelf: 16_000_000,
}

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

const publicDoors = packages.flatMap(({ name, manifest }) =>
  Object.keys(manifest.exports)
    .filter((door) => !/internal|package\.json/.test(door))
    .map((door) => name + door.slice(1)),
)
const everyDoor = publicDoors
  .map((door) => `export * as ${door.replace(/\W/g, '_')} from '${door}'`)
  .join('\n')

/** All declarations are checked but those of TypeScript's own library, which are not ours. */
const strictly = {
  strict: true,
  noEmit: true,
  target: 'es2022',
  module: 'nodenext',
  skipDefaultLibCheck: true,
}

let project: string

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
  if (!existsSync(join(root, 'packages/cli/dist/main.js'))) run('npm', ['run', 'build'], root)
  project = realpathSync(mkdtempSync(join(tmpdir(), 'toolshelf-')))
  for (const name of ['everything', ...packages.map(({ name }) => name)]) {
    mkdirSync(userOf(name), { recursive: true })
    writeFileSync(join(userOf(name), 'package.json'), '{ "private": true, "type": "module" }')
  }
  for (const { name } of packages) {
    const links = { ...dependenciesOf(name), '@types/node': '' }
    cpSync(packageOf(name)?.dist ?? '', storedAt(name), { recursive: true })
    for (const one of Object.keys(links)) link(one, join(project, 'store', name, 'node_modules'))
    const user = userOf(name)
    if (isThorough) installWithNpm(name)
    else for (const one of [name, ...oursOf(name)]) link(one, join(user, 'node_modules'))
  }
  for (const { name } of packages) link(name, join(everything(), 'node_modules'))
  for (const name of ['@anthropic-ai/sdk', '@types/node']) link(name, join(everything(), 'node_modules'))
})

/** A project that has one of ours, and those that it depends on. */
const userOf = (name: string) => join(project, 'users', name)
/** A project that has all. */
const everything = () => userOf('everything')
/** A copy of what was built, which sees what package.json names and nothing else. */
const storedAt = (name: string) => join(project, 'store', name, 'node_modules', name)
const installedAt = (name: string) => join(userOf(name), 'node_modules', name)

function link(name: string, modules: string): void {
  const target = packageOf(name) ? storedAt(name) : join(root, 'node_modules', name)
  mkdirSync(dirname(join(modules, name)), { recursive: true })
  symlinkSync(target, join(modules, name), 'junction')
}

/** Packs a package and those of ours that it depends on, and installs these files. */
function installWithNpm(name: string): void {
  const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts', '--loglevel=error']
  const tarballs = [name, ...oursOf(name)].map((one) => {
    const [packed] = JSON.parse(
      run('npm', ['pack', '--json', '--loglevel=error', packageOf(one)?.dist ?? ''], project),
    )
    return join(project, packed.filename)
  })
  run('npm', ['install', ...tarballs, ...quiet], userOf(name))
}

afterAll(() => {
  if (project) rmSync(project, { recursive: true, force: true })
})

describe.each(packages)('$name', ({ name, folder, manifest }) => {
  const filesIn = (place: string) =>
    readdirSync(place, { recursive: true, encoding: 'utf8' })
      .map((path) => path.replaceAll('\\', '/'))
      .filter((path) => statSync(join(place, path)).isFile() && !path.startsWith('node_modules/'))

  test('holds the built files and papers only, and is small', () => {
    const place = installedAt(name)
    const paths = filesIn(place)
    const known =
      /^((?:[\w-]+\/)*[\w.-]+\.js|types\/(?:[\w-]+\/)*[\w-]+\.d\.ts|src\/(page\.css|quickjs\.wasm)|THIRD-PARTY-LICENSES\.txt|(README|CHANGELOG)\.md|LICENSE|(data\/)?(NOTICE|LICENSE-APACHE-2\.0)|data\/(meaning|bridge)\.bin|examples\/script\.json|package\.json)$/
    expect(paths.filter((path) => !known.test(path) || /\btest\b/.test(path))).toEqual([])
    expect(paths).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json']))
    const size = paths.reduce((sum, path) => sum + statSync(join(place, path)).size, 0)
    expect(size).toBeLessThan(MAX_SIZE[name] ?? 500_000)
  })

  test('has a sound package.json, and one version with all others', async () => {
    const { messages, pkg } = await publint({ pkgDir: installedAt(name), pack: false, level: 'warning' })
    expect(messages.map((message) => formatMessage(message, pkg ?? {}))).toEqual([])
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    for (const one of [manifest, ...oursOf(name).map((one) => packageOf(one)?.manifest)])
      expect(one?.version).toBe(version)
    for (const one of oursOf(name)) expect(dependenciesOf(name)[one]).toBe(version)
  })

  // ES modules only, by choice: docs/decisions/2026-11-19-workspaces.md. Node 20.19 requires them; resolution of Node 10 knows no doors.
  test.skipIf(missing !== undefined)('has types that are right for every door', async () => {
    const { checkPackage, Package } = await import(
      pathToFileURL(file('@arethetypeswrong/core/dist/index.js')).href
    )
    const place = installedAt(name)
    const texts = filesIn(place).filter((path) => /\.(js|ts|json)$/.test(path))
    const contents = texts.map((path) => [
      `/node_modules/${name}/${path}`,
      readFileSync(join(place, path), 'utf8'),
    ])
    const { types, problems } = await checkPackage(
      new Package(Object.fromEntries(contents), name, manifest.version),
    )
    expect(types !== false).toBe(name !== 'toolshelf')
    const counted = (problems ?? []).filter(
      ({ kind, resolutionKind }: { kind: string; resolutionKind?: string }) =>
        kind !== 'CJSResolvesToESM' && resolutionKind !== 'node10',
    )
    expect(counted).toEqual([])
  })

  test('gives the licence of every package whose code it holds', () => {
    const path = join(installedAt(name), 'THIRD-PARTY-LICENSES.txt')
    const holdsOthers = name === 'toolshelf' || name === '@toolshelf/core'
    expect(existsSync(path)).toBe(holdsOthers)
    if (!holdsOthers) return
    const listed = readFileSync(path, 'utf8')
      .split(`\n\n${'-'.repeat(80)}\n\n`)
      .slice(1)
    const names = new Set(listed.map((part) => part.split(' ')[0]))
    const some = [
      're2js',
      'typebox',
      'undici',
      ...(name === 'toolshelf' ? ['ink', '@modelcontextprotocol/server', 'ajv'] : []),
    ]
    for (const one of some) expect(names).toContain(one)
    expect(listed.filter((part) => !/permi|Apache License|public domain/i.test(part))).toEqual([])
  })

  test('has a README whose example prints what it says', () => {
    const text = readFileSync(join(folder, 'README.md'), 'utf8')
    expect(text.length).toBeGreaterThan(500)
    const [, language, code = '', printed = ''] =
      /^```(js|sh)\n((?:(?!```).)*)^```\n\n```text\n((?:(?!```).)*)```/ms.exec(text) ?? []
    // It has no public door, and says so.
    if (name === '@toolshelf/server') return expect(text).toContain('no public door')
    if (language === 'sh') return expect(toolshelf(code.trim().split(' ').slice(1))).toContain(printed.trim())
    const user = userOf(name)
    const [, json] = /^```json\n(.*?)^```/ms.exec(text) ?? []
    // Its server is here, too, without npx.
    const server = join(root, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')
    const here = json
      ?.replace('"npx"', JSON.stringify(process.execPath))
      .replace('"-y", "@modelcontextprotocol/server-everything"', JSON.stringify(server))
    if (here) writeFileSync(join(user, '.mcp.json'), here)
    writeFileSync(join(user, 'readme.js'), code)
    expect(run(process.execPath, ['readme.js'], user)).toBe(printed)
  })

  test.runIf(isThorough)('is packed as it was built', () => {
    expect(filesIn(installedAt(name)).sort()).toEqual(filesIn(packageOf(name)?.dist ?? '').sort())
  })
})

test('the library and the command install no other package', () => {
  for (const name of ['@toolshelf/core', 'toolshelf']) {
    const { devDependencies, ...fields } = JSON.parse(
      readFileSync(join(installedAt(name), 'package.json'), 'utf8'),
    )
    expect(Object.keys(fields).filter((field) => /dependencies/i.test(field))).toEqual([])
    if (!isThorough) continue
    const { packages } = JSON.parse(readFileSync(join(userOf(name), 'package-lock.json'), 'utf8'))
    expect(Object.keys(packages)).toEqual(['', `node_modules/${name}`])
  }
})

describe('the library', () => {
  /** What the compiler says of files that import from every package. */
  function check(files: { readonly [name: string]: string }, options: object, compiler = tsc): string {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(everything(), name), text)
    const config = { compilerOptions: { ...strictly, ...options }, files: Object.keys(files) }
    const path = `tsconfig.${Object.keys(files)[0]}.json`
    writeFileSync(join(everything(), path), JSON.stringify(config))
    const words = compiler === tsc ? ['--checkers', '1'] : []
    return run(process.execPath, [compiler, '-p', path, ...words], everything())
  }

  test('needs no types of Node', () => {
    const plain = "export { createShelf } from '@toolshelf/core'\n"
    expect(check({ 'plain.ts': plain }, { lib: ['es2023', 'dom'], types: [] })).toBe('')
  })

  test('type-checks strictly and fits the SDK', () => {
    expect(check({ 'use.ts': typedUse }, { lib: ['es2023', 'dom'], types: [] })).toBe('')
  })

  test('can be required, too', () => {
    const code = `process.stdout.write(${JSON.stringify(publicDoors)}.map((door) => typeof require(door)).join())`
    const printed = run(
      process.execPath,
      ['--no-warnings', '--input-type=commonjs', '-e', code],
      everything(),
    )
    expect(printed).toBe(publicDoors.map(() => 'object').join())
  })

  test.skipIf(missing !== undefined)(`TypeScript ${OLDEST_TYPESCRIPT} reads every declaration`, () => {
    expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain('TypeScript 5.0 or newer')
    const old = createRequire(import.meta.url)(file('typescript'))
    expect(old.version).toBe(OLDEST_TYPESCRIPT)
    const types = packages.flatMap(({ dist }) =>
      readdirSync(dist, { recursive: true, encoding: 'utf8' })
        .filter((path) => path.endsWith('.d.ts'))
        .map((path) => join(dist, path)),
    )
    expect(types.length).toBeGreaterThan(50)
    const wrong = types.filter((path) => {
      const source = old.createSourceFile(path, readFileSync(path, 'utf8'), old.ScriptTarget.ES2022)
      return source.parseDiagnostics.length > 0
    })
    expect(wrong).toEqual([])
  })

  test('every door type-checks strictly, and so does every example of doc comments and guides', () => {
    const { count, module } = docExamples()
    expect(count).toBeGreaterThan(45)
    const files = { 'doors.ts': everyDoor, 'examples.ts': module }
    expect(check(files, { lib: ['es2022'], types: ['node'] })).toBe('')
    // The oldest takes three times as long.
    if (!isThorough || missing !== undefined) return
    expect(check(files, { lib: ['es2022'], types: ['node'] }, file('typescript/bin/tsc'))).toBe('')
  })
})

/** Runs the installed command in an empty folder. */
function toolshelf(words: readonly string[], env: NodeJS.ProcessEnv = {}): string {
  const folder = join(project, 'empty')
  const home = join(project, 'home')
  for (const one of [folder, home]) mkdirSync(one, { recursive: true })
  const main = join(installedAt('toolshelf'), 'main.js')
  const { XDG_CACHE_HOME, XDG_STATE_HOME, XDG_CONFIG_HOME, ...inherited } = process.env
  return run(process.execPath, [main, ...words], folder, { ...inherited, HOME: home, ...env })
}

describe('the installed command line, in an empty folder', () => {
  const isWindows = process.platform === 'win32'

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
