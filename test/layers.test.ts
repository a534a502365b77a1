// The direction of imports and the purity of the core. Every failure names the file and the import.
import { describe, expect, test } from 'vitest'
import { findCycle, importsOf, readSource, stripSource } from './support/source.ts'

const files = readSource()
const imports = files.flatMap((file) => importsOf(file).map((found) => ({ from: file.path, ...found })))
const core = files.filter((file) => file.path.startsWith('core/'))

/** What each folder of src/ may import, besides itself. A folder that is missing here may import nothing. */
const LAYERS: Record<string, readonly string[]> = {
  lib: [],
  core: ['lib'],
  search: ['lib', 'core'],
  validate: ['lib', 'core'],
  node: ['lib', 'core'],
  terminal: ['lib'],
  embed: ['lib', 'node'],
  rankers: ['lib', 'core', 'search', 'embed', 'node', 'validate'],
  mcp: ['lib', 'core', 'node'],
  messages: ['lib', 'core', 'node', 'rankers'],
  agent: ['lib', 'core', 'node', 'search', 'rankers'],
  scan: ['lib', 'mcp'],
  doctor: ['lib', 'core', 'mcp', 'scan', 'terminal'],
  import: ['lib', 'mcp', 'node'],
  entries: ['core', 'mcp', 'messages', 'agent'],
  '': ['core', 'entries', 'node', 'rankers', 'validate'],
  cli: [
    '',
    'lib',
    'core',
    'search',
    'validate',
    'node',
    'terminal',
    'rankers',
    'mcp',
    'messages',
    'agent',
    'scan',
    'doctor',
    'import',
  ],
}

/** Folders inside a layer, each importing only those in front of it; files directly in the layer come last. */
const ORDERS: Record<string, readonly string[]> = {
  core: ['oracle', 'tools', 'history', 'figures', 'gate', 'wire', 'request', 'calls'],
  mcp: ['protocol', 'redact', 'cache', 'pins', 'config', 'session', 'oauth', 'host', 'greeting', 'gateway'],
}

/** The top-level folder of a path below src/, or '' for a file in src/ itself. */
const layerOf = (path: string) => (path.includes('/') ? path.slice(0, path.indexOf('/')) : '')
const folderOf = (path: string) => path.slice(0, Math.max(0, path.lastIndexOf('/')))

function offenders(breaksRule: (found: (typeof imports)[number]) => boolean): string[] {
  return imports.filter(breaksRule).map(({ from, spec }) => `src/${from} imports '${spec}'`)
}

/** Whether an import enters a folder that its file is not part of. */
function entersFolder({ from, target }: (typeof imports)[number]): boolean {
  if (target === undefined) return false
  const [own, other] = [folderOf(from), folderOf(target)]
  return other !== own && !`${own}/`.startsWith(`${other}/`) && other !== ''
}

describe('layers', () => {
  test('there is a core to check', () => {
    expect(core.length).toBeGreaterThan(0)
  })

  test('every folder of src is a layer, and src itself holds the entry alone', () => {
    const folders = new Set(files.map(({ path }) => layerOf(path)))
    expect([...folders].sort()).toEqual(Object.keys(LAYERS).sort())
    expect(files.filter(({ path }) => layerOf(path) === '').map(({ path }) => path)).toEqual(['index.ts'])
  })

  test('a layer imports only the layers below it', () => {
    const bad = offenders(({ from, target }) => {
      if (target === undefined) return false
      const [own, other] = [layerOf(from), layerOf(target)]
      return own !== other && !LAYERS[own]?.includes(other)
    })
    expect(bad).toEqual([])
  })

  test('core, search, lib and scan import no package and nothing of Node', () => {
    const pure = ['core', 'lib', 'search', 'scan']
    expect(offenders(({ from, target }) => pure.includes(layerOf(from)) && target === undefined)).toEqual([])
  })

  test('folders are entered by their index; only a dynamic import names the file that it defers', () => {
    const isDoor = (target = '') => target.endsWith('/index.ts') || target.startsWith('entries/')
    const bad = offenders((found) => entersFolder(found) && !found.isDynamic && !isDoor(found.target))
    expect(bad).toEqual([])
  })

  test('no file imports the index of its own folder', () => {
    const isOwnIndex = ({ from, target }: (typeof imports)[number]) =>
      target?.endsWith('index.ts') === true && `${folderOf(from)}/`.startsWith(`${folderOf(target)}/`)
    expect(offenders((found) => isOwnIndex(found) && found.from !== found.target)).toEqual([])
  })

  test('folders inside core and mcp import only those below them', () => {
    const placeIn = (layer: string, path: string) => {
      const [, folder, file] = path.split('/')
      return file === undefined ? Number.POSITIVE_INFINITY : (ORDERS[layer]?.indexOf(folder ?? '') ?? -1)
    }
    const bad = offenders(({ from, target, typeOnly }) => {
      const layer = layerOf(from)
      if (target === undefined || typeOnly || layerOf(target) !== layer || !ORDERS[layer]) return false
      const isShared = !target.slice(layer.length + 1).includes('/')
      return !isShared && placeIn(layer, from) < placeIn(layer, target)
    })
    expect(bad).toEqual([])
  })

  test('no cycles among run-time imports', () => {
    const graph = new Map<string, string[]>(files.map(({ path }) => [path, []]))
    for (const { from, target, typeOnly } of imports) if (target && !typeOnly) graph.get(from)?.push(target)
    expect(findCycle(graph)?.join(' → ')).toBeUndefined()
  })
})

const impure: Record<string, RegExp> = {
  process: /(?<!\.)\bprocess\b/,
  globalThis: /\bglobalThis\b/,
  'Date.now': /\bDate\s*\.\s*now\b/,
  'new Date': /\bnew\s+Date\b/,
  'Math.random': /\bMath\s*\.\s*random\b/,
  setTimeout: /\bsetTimeout\b/,
  setInterval: /\bsetInterval\b/,
  'fetch(': /(?<!\.)\bfetch\s*\(/,
  performance: /(?<!\.)\bperformance\b/,
  console: /(?<!\.)\bconsole\b/,
}

function impurities(text: string): string[] {
  const code = stripSource(text, 'drop')
  return Object.keys(impure).filter((name) => impure[name]!.test(code))
}

describe('purity', () => {
  test('core has no clock, randomness, timers, network, process or console', () => {
    const bad = core.flatMap(({ path, text }) => impurities(text).map((name) => `src/${path} uses ${name}`))
    expect(bad).toEqual([])
  })
})

describe('the checks can fail', () => {
  test('the cycle finder finds a cycle and accepts a diamond', () => {
    const cycle = new Map([
      ['a', ['b']],
      ['b', ['c', 'd']],
      ['c', []],
      ['d', ['b']],
    ])
    const diamond = new Map([
      ['a', ['b', 'c']],
      ['b', ['d']],
      ['c', ['d']],
    ])
    expect(findCycle(cycle)).toEqual(['b', 'd', 'b'])
    expect(findCycle(diamond)).toBeUndefined()
  })

  test('imports of every spelling are seen', () => {
    const text = [
      "import type { A } from './a.ts'",
      'import b, {\n  type B,\n} from "../b.ts"',
      "export { c }\nexport type * from './c.ts'",
      "export * as d from './d.ts'",
      "import 'node:fs'",
      "const e = await import('./e.ts')",
      "// import x from './x.ts'",
      "export type F = 'f'\nconst from = 'g'",
    ].join('\n')
    expect(importsOf({ path: 'core/wire/z.ts', text })).toEqual([
      { spec: './a.ts', typeOnly: true, isDynamic: false, target: 'core/wire/a.ts' },
      { spec: '../b.ts', typeOnly: false, isDynamic: false, target: 'core/b.ts' },
      { spec: './c.ts', typeOnly: true, isDynamic: false, target: 'core/wire/c.ts' },
      { spec: './d.ts', typeOnly: false, isDynamic: false, target: 'core/wire/d.ts' },
      { spec: 'node:fs', typeOnly: false, isDynamic: false, target: undefined },
      { spec: './e.ts', typeOnly: false, isDynamic: true, target: 'core/wire/e.ts' },
    ])
  })

  test('impure code is seen in code only', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the string is source text
    expect(impurities('const t = `at ${Date.now()} and ${`${Math.random()}`}`')).toEqual([
      'Date.now',
      'Math.random',
    ])
    expect(impurities('const q = /[`\'"]/; console.log(new Date())')).toEqual(['new Date', 'console'])
    const harmless =
      '// process\n/* console */ const a = \'fetch(\' + "setTimeout" + `performance \\` process`'
    expect(impurities(harmless)).toEqual([])
  })
})
