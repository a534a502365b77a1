// The core as npm packs it, in every runtime that it is for: the same host sees the same everywhere.
import { execFile, execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type BuildOptions, build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
// @ts-expect-error: plain JavaScript, shared with scripts/test.mjs
import { BROWSER_ADVICE } from '../../scripts/browser.mjs'
import { lacking } from '../clients/install.ts'
// @ts-expect-error: plain JavaScript, shared with scripts/test.mjs
import { installClients, modulesOf } from '../clients/installation.mjs'
import { browserPath, PATIENCE, startBrowser } from '../inspector/support/browser.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const here = fileURLToPath(new URL('.', import.meta.url))
const SET = { folder: '../runtimes' }
const isArm = process.arch === 'arm64'
const installed = {
  node: `node-${process.platform}-${process.arch}/bin/node`,
  bun: `@oven/bun-${process.platform}-${isArm ? 'aarch64' : 'x64-baseline'}/bin/bun`,
  deno: `@deno/${process.platform}-${isArm ? 'arm64' : 'x64'}-glibc/deno`,
}
const fileOf = (path: string) => join(modulesOf(SET.folder), path)
const failed: string | undefined = await installClients(SET.folder)
const without = (...files: string[]) => failed ?? lacking(SET, files)

/** What `open` of shop.mjs returns of a conversation. */
type Conversation = { readonly [what: string]: unknown }

type Seen = {
  /** With a shelf as it is by default. */
  readonly own: Conversation
  /** With a shelf that ranks by words alone. */
  readonly lexical: Conversation
  /** With a shelf that is given the tables, where there are none. */
  readonly given?: Conversation
  /** What the library said on the console. */
  readonly said: string
}

type Runtime = {
  readonly name: string
  /** Why it is not here, in one line. */
  readonly missing?: string | undefined
  readonly visit: () => Promise<Seen>
}

const PARCEL = 'mcp__office__get_parcel'
const REFUND = 'mcp__shop__refund_order'

const OPEN = `
import { open } from './shop.mjs'
const own = open()
const lexical = open({ rank: 'lexical' })
`
const USE = `${OPEN}
console.log(JSON.stringify({ own: await own(), lexical: await lexical() }))
`
/** Where there is no Node, a host brings the tables. */
const WEB = `${OPEN}
import { createRankers } from '@toolshelf/core'
import { bridge } from '@toolshelf/core/bridge'
import { meaning } from '@toolshelf/core/meaning'
const given = open({ rank: createRankers({ meaning, bridge }).hybrid })
const visit = async () => ({ own: await own(), lexical: await lexical(), given: await given() })
`
const WORKER = `${WEB}
export default { fetch: async () => Response.json(await visit()) }
`
const PAGE = `${WEB}
globalThis.seen = visit()
`

/** An empty project with the packed core and nothing else. */
let project: string
/** A folder without any package. */
let elsewhere: string

const runtimes: readonly Runtime[] = [
  { name: `Node ${process.versions.node}`, visit: () => start(process.execPath, ['use.mjs']) },
  {
    name: 'the newest Node',
    missing: without(installed.node),
    visit: () => start(fileOf(installed.node), ['use.mjs']),
  },
  {
    name: 'Bun',
    missing: without(installed.bun),
    visit: () => start(fileOf(installed.bun), ['use.mjs']),
  },
  {
    name: 'Deno',
    missing: without(installed.deno),
    visit: () => {
      const rights = ['--no-prompt', `--allow-read=${project}`, '--allow-env']
      return start(fileOf(installed.deno), ['run', ...rights, 'use.mjs'])
    },
  },
  {
    name: 'a bundle for Node, away from the package',
    visit: async () => {
      await bundle({ entryPoints: ['use.mjs'], platform: 'node', outfile: join(elsewhere, 'use.mjs') })
      return start(process.execPath, ['use.mjs'], elsewhere)
    },
  },
  {
    name: 'a program that Bun compiled, away from the package',
    missing: without(installed.bun),
    visit: async () => {
      const program = join(elsewhere, 'shop')
      await run(fileOf(installed.bun), ['build', '--compile', 'use.mjs', '--outfile', program])
      return start(program, [], elsewhere)
    },
  },
  {
    name: 'workerd without compatibility flags',
    missing: without('miniflare', installed.node),
    visit: async () => {
      const outfile = join(elsewhere, 'worker.mjs')
      writeFileSync(outfile, await webBundle(WORKER, ['workerd', 'worker', 'browser']))
      return start(fileOf(installed.node), [join(here, 'workerd.mjs'), outfile], elsewhere)
    },
  },
  {
    name: 'Chromium',
    missing: browserPath ? undefined : `no browser found; ${BROWSER_ADVICE}.`,
    visit: async () => {
      const script = await webBundle(PAGE, ['browser'])
      const browser = await startBrowser()
      try {
        const page = await browser.newPage()
        page.setDefaultTimeout(PATIENCE)
        let said = ''
        page.on('console', (message) => {
          said += `${message.text()}\n`
        })
        await page.addScriptTag({ type: 'module', content: script })
        const seen = await page.waitForFunction('globalThis.seen')
        return { ...((await seen.jsonValue()) as Omit<Seen, 'said'>), said }
      } finally {
        await browser.close()
      }
    },
  },
]

function run(command: string, words: readonly string[], cwd = project) {
  return promisify(execFile)(command, words, { cwd, timeout: PATIENCE })
}

/** Starts a program that prints what was seen. */
async function start(...command: Parameters<typeof run>): Promise<Seen> {
  const { stdout, stderr } = await run(...command)
  return { ...JSON.parse(stdout), said: stderr }
}

function bundle(options: BuildOptions) {
  return build({ absWorkingDir: project, bundle: true, format: 'esm', logLevel: 'error', ...options })
}

/** For where there is no Node: nothing may stay outside of the bundle. */
async function webBundle(contents: string, conditions: string[]): Promise<string> {
  const stdin = { contents, resolveDir: project }
  const made = await bundle({ stdin, conditions, platform: 'browser', minify: true, write: false })
  const [{ text } = { text: '' }] = made.outputFiles ?? []
  expect(text.match(/.{0,80}\bnode:.{0,80}/g)).toBeNull()
  return text
}

function npm(words: readonly string[], cwd: string): void {
  const shell = process.platform === 'win32'
  execFileSync('npm', [...words, '--ignore-scripts', '--loglevel=error'], { cwd, shell, stdio: 'pipe' })
}

beforeAll(() => {
  const dist = join(root, 'packages/core/dist')
  if (!existsSync(join(dist, 'index.js'))) npm(['run', 'build'], root)
  project = mkdtempSync(join(tmpdir(), 'toolshelf-'))
  elsewhere = mkdtempSync(join(tmpdir(), 'toolshelf-'))
  writeFileSync(join(project, 'package.json'), '{ "private": true }')
  npm(['pack', '--pack-destination', project], dist)
  npm(['install', './toolshelf-core-0.1.0.tgz', '--offline', '--no-audit', '--no-fund'], project)
  copyFileSync(join(here, 'shop.mjs'), join(project, 'shop.mjs'))
  writeFileSync(join(project, 'use.mjs'), USE)
})

afterAll(() => {
  for (const folder of [project, elsewhere]) if (folder) rmSync(folder, { recursive: true, force: true })
})

for (const { name, missing, visit } of runtimes) {
  if (missing) process.stderr.write(`Skipped: ${name}: ${missing}\n`)

  describe.skipIf(missing)(name, () => {
    let seen: Seen
    beforeAll(async () => {
      seen = await visit()
    })

    test('a host offers a search, loads what it finds, and runs it, however searches rank', () => {
      const { own, lexical, given = own } = seen
      for (const { offered, selected, words, called, loaded } of [own, lexical, given]) {
        expect(offered).toContain('ToolSearch')
        expect(offered).not.toContain(REFUND)
        expect(selected).toEqual([PARCEL])
        expect(words).toContain(REFUND)
        expect(called).toEqual([{ type: 'text', text: 'shop did refund_order' }])
        expect(loaded).toEqual(expect.arrayContaining([PARCEL, REFUND]))
      }
    })

    test('a search finds by meaning; where it cannot, the decision says so, and the console once', () => {
      const { own, lexical, given = own, said } = seen
      expect(given.meaning).toContain(REFUND)
      expect(given.lacks).toBeUndefined()
      expect(lexical.meaning).not.toContain(REFUND)
      const lack = 'no table of meanings: searches rank by words alone'
      if (seen.given) expect(own.lacks).toContain(lack)
      expect(said).toBe(seen.given ? `toolshelf: ${lack}\n` : '')
    })
  })
}

test('a bundle for where there is no Node takes the tables along only if they are asked for', async () => {
  const lean = await webBundle("export { createShelf } from '@toolshelf/core'", ['browser'])
  expect(lean.length).toBeLessThan(600_000)
})
