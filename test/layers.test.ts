// The direction of imports and the purity of the core. Every failure names the file and the import.
import { describe, expect, test } from 'vitest'
import { findCycle, importsOf, readSource, stripSource } from './support/source.ts'

const files = readSource()
const imports = files.flatMap((file) => importsOf(file).map((found) => ({ from: file.path, ...found })))
const core = files.filter((file) => file.path.startsWith('core/'))

/** The top-level folder of a path below src/, or '' for a file in src/ itself. */
const layerOf = (path: string) => (path.includes('/') ? path.slice(0, path.indexOf('/')) : '')
const isShell = (layer: string) => !['', 'core', 'search'].includes(layer)

function offenders(breaksRule: (found: (typeof imports)[number]) => boolean): string[] {
  return imports.filter(breaksRule).map(({ from, spec }) => `src/${from} imports '${spec}'`)
}

describe('layers', () => {
  test('there is a core to check', () => {
    expect(core.length).toBeGreaterThan(0)
  })

  test('core imports only core', () => {
    const bad = offenders(
      ({ from, target }) => layerOf(from) === 'core' && (target === undefined || layerOf(target) !== 'core'),
    )
    expect(bad).toEqual([])
  })

  test('search imports only core and search', () => {
    const bad = offenders(
      ({ from, target }) =>
        layerOf(from) === 'search' && (target === undefined || !['core', 'search'].includes(layerOf(target))),
    )
    expect(bad).toEqual([])
  })

  test('nothing in core imports core/index.ts', () => {
    expect(offenders(({ from, target }) => layerOf(from) === 'core' && target === 'core/index.ts')).toEqual(
      [],
    )
  })

  test('shells do not import each other; cli may import all', () => {
    const bad = offenders(({ from, target }) => {
      const [own, other] = [layerOf(from), layerOf(target ?? '')]
      return isShell(own) && own !== 'cli' && isShell(other) && other !== own
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
      { spec: './a.ts', typeOnly: true, target: 'core/wire/a.ts' },
      { spec: '../b.ts', typeOnly: false, target: 'core/b.ts' },
      { spec: './c.ts', typeOnly: true, target: 'core/wire/c.ts' },
      { spec: './d.ts', typeOnly: false, target: 'core/wire/d.ts' },
      { spec: 'node:fs', typeOnly: false, target: undefined },
      { spec: './e.ts', typeOnly: false, target: 'core/wire/e.ts' },
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
