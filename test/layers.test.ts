// What package.json cannot hold: the direction of imports between the packages, and the purity of the core.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

/** Which of our packages each may import. One that is missing here may import none. */
const DIRECTIONS = new Map(
  `
  core:
  messages: core
  scripts: core
  mcp: core scripts
  agent: core scripts
  server: core
  inspector: core
  cli: core messages scripts mcp agent server inspector
`
    .split('\n')
    .map((line) => [line.split(':')[0]?.trim(), line.split(/[: ]+/).slice(2)]),
)

/** The parts of the core that need Node, a clock or packages. */
const IMPURE =
  /^core\/src\/(node|rankers)\/|^core\/src\/(bridge|index|internal-node|lib\/sha256|meaning|node|result-stores|schedule|tables\.\w+|validate)\.ts$/

const root = fileURLToPath(new URL('../packages/', import.meta.url))
const packages = readdirSync(root).filter((name) => name !== 'testkit')
const files = packages.flatMap((name) =>
  readdirSync(`${root}${name}/src`, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => `${name}/src/${path.replaceAll('\\', '/')}`),
)
const comment = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm
const code = new Map(files.map((path) => [path, readFileSync(root + path, 'utf8').replace(comment, '')]))
const statement = /^(?:import|export) (type )?(?:[\w*{}\s,$]+? from )?'([^']+)'|\bimport\('([^']+)'\)/gm
const imports = [...code].flatMap(([from, text]) =>
  [...text.matchAll(statement)].flatMap(([, type, fixed, deferred]) => {
    const spec = fixed ?? deferred ?? ''
    const isType = type !== undefined
    if (spec.startsWith('#'))
      return chosen(from, spec).map((target) => ({ from, spec, isType, isLazy: fixed === undefined, target }))
    const target = spec.startsWith('.') ? posix.join(posix.dirname(from), spec) : undefined
    return [{ from, spec, isType, isLazy: fixed === undefined, target }]
  }),
)
/** The files that an import of the package itself leads to, by its conditions. */
function chosen(from: string, spec: string): string[] {
  const target = manifestOf(packageOf(from)).imports?.[spec] ?? {}
  const named: string[] = typeof target === 'string' ? [target] : Object.values(target)
  return named.map((file) => posix.join(packageOf(from), file))
}
function packageOf(path: string): string {
  return path.split('/')[0] ?? ''
}
function manifestOf(name: string) {
  return JSON.parse(readFileSync(`${root}${name}/package.json`, 'utf8'))
}
const say = ({ from, spec }: (typeof imports)[number]) => `packages/${from} imports '${spec}'`

test('a package imports those below it, by their doors, and nothing that its package.json does not name', () => {
  expect(files.length).toBeGreaterThan(300)
  const bad = imports.filter(({ from, spec, target }) => {
    if (target !== undefined) return packageOf(target) !== packageOf(from)
    if (spec.startsWith('node:')) return false
    const name = /^(?:@[^/]+\/)?[^/]+/.exec(spec)?.[0] ?? ''
    const { dependencies, devDependencies, peerDependencies } = manifestOf(packageOf(from))
    if (!(name in { ...dependencies, ...devDependencies, ...peerDependencies })) return true
    const ours = /^@toolshelf\/(.*)/.exec(name)?.[1]
    return ours !== undefined && !DIRECTIONS.get(packageOf(from))?.includes(ours)
  })
  expect(bad.map(say)).toEqual([])
})

test('doors are single files, named one by one', () => {
  const doors = packages.flatMap((name) =>
    Object.values<string>(manifestOf(name).exports).map((file) => posix.join(name, file)),
  )
  expect(doors.filter((file) => file.includes('*') || !existsSync(root + file))).toEqual([])
})

test('the core imports no package and nothing of Node, and has no clock, network or randomness', () => {
  const isPure = (path: string) => packageOf(path) === 'core' && !IMPURE.test(path)
  const foreign = imports.filter(
    ({ from, target, isType }) => isPure(from) && !isType && (target === undefined || IMPURE.test(target)),
  )
  expect(foreign.filter(({ from }) => !/^core\/src\/internal\.ts$/.test(from)).map(say)).toEqual([])
  const impure =
    /\bDate\.now\b|\bnew Date\b|\bMath\.random\b|\bset(?:Timeout|Interval)\b|(?<![.\w'`])(?:fetch\(|console\.|globalThis\b|process\.|performance\.)/
  // The kernel takes WebAssembly, which every runtime has, from `globalThis`.
  const isKernel = (path: string) => path === 'core/src/search/vectors.ts'
  const bad = [...code].filter(([path, text]) => isPure(path) && !isKernel(path) && impure.test(text))
  expect(bad.map(([path]) => path)).toEqual([])
})

test('the core runs without Node, except for its doors that say so', () => {
  const seen = new Set(['index', 'pure', 'internal', 'tables.web'].map((door) => `core/src/${door}.ts`))
  // What only Node has is behind a condition.
  const next = (path: string) =>
    imports.filter(({ from, spec, isType }) => from === path && !isType && spec !== '#tables')
  for (const path of seen) for (const { target } of next(path)) if (target) seen.add(target)
  const foreign = [...seen].flatMap(next).filter(({ target }) => target === undefined)
  expect([...new Set(foreign.map(({ spec }) => spec))].sort()).toEqual([
    ...['re2js', 'typebox/format', 'typebox/schema', 'typebox/system'],
  ])
})

test('no class of another package is compared: a user may have two copies of it, so errors carry a code', () => {
  const named = /^import \{([^}]*)\} from '@toolshelf\/|\{([^{}]*)\} = (?:\(?await )?import\('@toolshelf\//gm
  const compared = [...code].flatMap(([path, text]) => {
    const theirs = [...text.matchAll(named)].flatMap(([, early = '', late = '']) =>
      `${early},${late}`.split(',').map((name) => name.trim()),
    )
    return [...text.matchAll(/instanceof (\w+)/g)].flatMap(([test, name = '']) =>
      theirs.includes(name) ? `packages/${path}: ${test}` : [],
    )
  })
  expect(compared).toEqual([])
})

test('what judges requests as the API does is loaded on demand', () => {
  const isOracle = (path: string) => /^messages\/src\/oracle(\/|\.ts$)/.test(path)
  const early = imports.filter(
    ({ from, target, spec, isLazy, isType }) =>
      !isLazy && !isType && !isOracle(from) && (spec.endsWith('/oracle') || (target && isOracle(target))),
  )
  expect(early.map(say)).toEqual([])
})

test('no cycles among run-time imports', () => {
  const graph = new Map(files.map((path) => [path, [] as string[]]))
  for (const { from, target, isType } of imports) if (target && !isType) graph.get(from)?.push(target)
  // What imports nothing that is left is no part of a cycle.
  for (let before = -1; before !== graph.size; ) {
    before = graph.size
    for (const [path, targets] of graph) if (!targets.some((target) => graph.has(target))) graph.delete(path)
  }
  expect([...graph.keys()]).toEqual([])
})
