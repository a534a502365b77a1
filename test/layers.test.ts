// The direction of imports between the folders of src/, and the purity of the core.
import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

/** What each folder of src/ may import, besides itself. A folder that is missing here may import nothing. */
const LAYERS = new Map(
  `
  lib:
  core: lib
  search: lib core
  validate: lib core
  node: lib core
  store: lib core node
  users: lib core node store
  operate: lib node store
  sandbox: lib core node
  terminal: lib
  otel: lib core node
  embed: lib node
  rankers: lib core search embed node validate
  mcp: lib core node operate sandbox store users
  messages: lib core node operate rankers store users
  agent: lib core node sandbox search rankers
  connect: lib mcp node
  inspector: lib core search node users rankers mcp
  entries: core mcp messages agent
  index: core entries node rankers search validate
  cli: index lib core search validate node sandbox terminal rankers mcp messages agent connect inspector operate otel store users
`
    .split('\n')
    .map((line) => [line.split(':')[0]?.trim(), line.split(/[: ]+/)]),
)

const root = fileURLToPath(new URL('../src/', import.meta.url))
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => /\.tsx?$/.test(path))
const comment = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm
const code = new Map(files.map((path) => [path, readFileSync(root + path, 'utf8').replace(comment, '')]))
const statement = /^(?:import|export) (type )?(?:[\w*{}\s,$]+? from )?'([^']+)'|\bimport\('([^']+)'\)/gm
const imports = [...code].flatMap(([from, text]) =>
  [...text.matchAll(statement)].map(([, type, fixed, deferred]) => {
    const spec = fixed ?? deferred ?? ''
    const target = spec.startsWith('.') ? posix.join(posix.dirname(from), spec) : undefined
    return { from, spec, isType: type !== undefined, target }
  }),
)
const layerOf = (path: string) => path.split(/[/.]/)[0] ?? ''
const say = ({ from, spec }: (typeof imports)[number]) => `src/${from} imports '${spec}'`

test('a folder of src imports only those below it', () => {
  expect(files.length).toBeGreaterThan(300)
  const bad = imports.filter(
    ({ from, target = from }) => !LAYERS.get(layerOf(from))?.includes(layerOf(target)),
  )
  expect(bad.map(say)).toEqual([])
})

test('core, search and lib import no package and nothing of Node; core has no clock, network or randomness', () => {
  const pure = ['core', 'lib', 'search']
  const foreign = imports.filter(({ from, target }) => pure.includes(layerOf(from)) && target === undefined)
  expect(foreign.map(say)).toEqual([])
  const impure =
    /\bDate\.now\b|\bnew Date\b|\bMath\.random\b|\bset(?:Timeout|Interval)\b|(?<![.\w'`])(?:fetch\(|console\.|globalThis\b|process\.|performance\.)/
  const bad = [...code].filter(([path, text]) => layerOf(path) === 'core' && impure.test(text))
  expect(bad.map(([path]) => path)).toEqual([])
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
