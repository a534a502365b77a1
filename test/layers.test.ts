// The direction of imports and the purity of the core. Every failure names the file and the import.
import { describe, expect, test } from 'vitest'
import { declaredExports, findCycle, importsOf, readSource, stripSource } from './support/source.ts'

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
  store: ['lib', 'core', 'node'],
  users: ['lib', 'core', 'node', 'store'],
  operate: ['lib', 'node', 'store'],
  sandbox: ['lib', 'core', 'node'],
  terminal: ['lib'],
  otel: ['lib', 'core', 'node'],
  embed: ['lib', 'node'],
  rankers: ['lib', 'core', 'search', 'embed', 'node', 'validate'],
  mcp: ['lib', 'core', 'node', 'operate', 'sandbox', 'store', 'users'],
  messages: ['lib', 'core', 'node', 'operate', 'rankers', 'store', 'users'],
  agent: ['lib', 'core', 'node', 'sandbox', 'search', 'rankers'],
  connect: ['lib', 'mcp', 'node'],
  inspector: ['lib', 'core', 'search', 'node', 'users', 'rankers', 'mcp'],
  entries: ['core', 'mcp', 'messages', 'agent'],
  '': ['core', 'entries', 'node', 'rankers', 'search', 'validate'],
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
    'connect',
    'inspector',
    'operate',
    'otel',
    'store',
    'users',
  ],
}

/** Folders inside a layer: each imports only those in front of it, and the files directly in its layer. */
const ORDERS: Record<string, readonly string[]> = {
  core: ['oracle', 'tools', 'history', 'results', 'figures', 'gate', 'wire', 'request', 'calls'],
  search: ['words', 'meaning', 'lexical', 'intent', 'languages'],
  mcp: [
    'protocol',
    'redact',
    'cache',
    'pins',
    'config',
    'session',
    'oauth',
    'host',
    'personal',
    'greeting',
    'lists',
    'gateway',
    'http',
  ],
  messages: ['json', 'hosted', 'wire', 'upstream', 'inbound', 'shelve', 'server'],
  cli: ['user-files', 'trust', 'connect', 'doctor', 'servers', 'gateway', 'chat', 'demo'],
}

/** Files that tests may import although no door exports them, each group with its reason. */
const TESTED_INSIDE: Record<string, readonly string[]> = {
  'parsers, formats and renderers with tables or properties of their own': [
    'agent/permissions/shell.ts',
    'agent/tools/walk.ts',
    'cli/chat/commands.ts',
    'cli/chat/context.ts',
    'cli/chat/diff-lines.ts',
    'cli/chat/editor.ts',
    'cli/chat/items.ts',
    'cli/chat/markdown.ts',
    'cli/chat/parts.ts',
    'cli/chat/press.ts',
    'cli/chat/questions.ts',
    'cli/chat/servers.ts',
    'cli/chat/settle.ts',
    'cli/chat/status.ts',
    'cli/chat/styled.ts',
    'cli/chat/turn.ts',
    'embed/records.ts',
    'embed/store.ts',
    'mcp/config/json.ts',
    'mcp/config/keys.ts',
    'mcp/config/references.ts',
    'mcp/lists/addresses.ts',
    'mcp/lists/plain-schema.ts',
    'mcp/host/content.ts',
    'mcp/session/lines.ts',
  ],
  'translations of one request or reply, which a gateway only shows as a whole': [
    'messages/contract.ts',
    'messages/hidden-thoughts.ts',
    'messages/json/scan.ts',
    'messages/plan.ts',
    'messages/server/read-request.ts',
    'messages/shelve/carry.ts',
    'messages/shelve/restore.ts',
    'messages/upstream/chat-events.ts',
    'messages/upstream/chat-request.ts',
    'messages/upstream/dialects.ts',
    'messages/upstream/native-tools.ts',
    'messages/upstream/openai.ts',
    'messages/upstream/responses-events.ts',
    'messages/upstream/responses-request.ts',
    'messages/upstream/thoughts.ts',
  ],
  'parts with so many cases that a table lists them, where a whole gateway shows one case each': [
    'mcp/gateway/loaded-tools.ts',
    'mcp/gateway/log-levels.ts',
    'mcp/gateway/operator-log.ts',
    'mcp/gateway/scripts.ts',
    'mcp/gateway/subscriptions.ts',
    'mcp/gateway/url-elicitations.ts',
    'mcp/host/definitions.ts',
    'mcp/host/lifecycle.ts',
    'mcp/lists/assert-sendable.ts',
    'mcp/lists/merged-lists.ts',
    'mcp/lists/resource-owner.ts',
    'mcp/lists/visible-host.ts',
    'mcp/session/modern.ts',
    'messages/errors.ts',
    'messages/refusals.ts',
    'messages/reply-memory.ts',
    'messages/report-tools.ts',
    'messages/rounds.ts',
    'messages/server/forward-rules.ts',
    'messages/server/inbound-reader.ts',
    'messages/server/pages.ts',
    'messages/server/report-answer.ts',
    'messages/server/request-context.ts',
    'messages/server/respond.ts',
    'messages/traced-conversations.ts',
  ],
  'limits, time-outs and races that a whole server reaches only after minutes, gigabytes or luck': [
    'embed/text-queue.ts',
    'mcp/gateway/exchanges.ts',
    'mcp/gateway/identities.ts',
    'mcp/gateway/inner-calls.ts',
    'mcp/gateway/relisting.ts',
    'mcp/gateway/remote-rounds.ts',
    'mcp/host/health.ts',
    'mcp/host/notifications.ts',
    'mcp/host/progress.ts',
    'mcp/host/publisher.ts',
    'mcp/host/questions.ts',
    'mcp/host/server-lists.ts',
    'mcp/host/timers.ts',
    'mcp/http/access.ts',
    'mcp/http/guard.ts',
    'mcp/http/traffic.ts',
    'mcp/oauth/callback.ts',
    'mcp/session/listing.ts',
    'mcp/session/output.ts',
    'mcp/session/silence.ts',
    'mcp/session/tail.ts',
    'mcp/session/throttle.ts',
    'mcp/session/timeouts.ts',
    'messages/meter.ts',
    'messages/recent.ts',
    'messages/server/body.ts',
    'messages/server/event-stream.ts',
    'messages/server/guard.ts',
    'messages/server/held-bytes.ts',
    'messages/server/token-count.ts',
    'messages/server/user-guard.ts',
    'messages/upstream/http.ts',
    'sandbox/stopwatch.ts',
    'store/channels.ts',
    'store/link.ts',
  ],
  'steps of a ranker, whose scores do not tell which step is wrong': [
    'embed/engine.ts',
    'rankers/model-rank.ts',
    'search/words/fields.ts',
    'search/meaning/kernel.ts',
    'search/words/query-words.ts',
    'search/lexical-rankers.ts',
    'search/lexical/settings.ts',
    'search/slices.ts',
    'search/words/stem.ts',
    'search/meaning/wordpiece.ts',
  ],
  'the packages that the demo installs, which a test must find without installing them': [
    'cli/demo/servers.ts',
  ],
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

  test('core, search and lib import no package and nothing of Node', () => {
    const pure = ['core', 'lib', 'search']
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

  test('folders inside a layer import only those below them', () => {
    const placeIn = (layer: string, path: string) => {
      const [, folder, file] = path.split('/')
      return file === undefined ? Number.POSITIVE_INFINITY : (ORDERS[layer]?.indexOf(folder ?? '') ?? -1)
    }
    const bad = offenders(({ from, target }) => {
      const layer = layerOf(from)
      if (target === undefined || layerOf(target) !== layer || !ORDERS[layer]) return false
      const isShared = !target.slice(layer.length + 1).includes('/')
      return !isShared && placeIn(layer, from) < placeIn(layer, target)
    })
    expect(bad).toEqual([])
  })

  test('a folder of core imports, besides folders, only the vocabulary: not the main path, nor what builds on it', () => {
    const vocabulary = ['attempt', 'errors', 'options', 'state', 'tokens', 'trace', 'types']
    const isRootFile = (target = '') => layerOf(target) === 'core' && folderOf(target) === 'core'
    const used = new Set(
      core
        .filter(({ path }) => folderOf(path) !== 'core')
        .flatMap((file) => importsOf(file).map(({ target }) => target)),
    )
    expect([...used].filter(isRootFile).sort()).toEqual(vocabulary.map((name) => `core/${name}.ts`))
  })

  test('no cycles among run-time imports', () => {
    const graph = new Map<string, string[]>(files.map(({ path }) => [path, []]))
    for (const { from, target, typeOnly } of imports) if (target && !typeOnly) graph.get(from)?.push(target)
    expect(findCycle(graph)?.join(' → ')).toBeUndefined()
  })
})

describe('tests', () => {
  const imported = readSource('test')
    .flatMap(({ path, text }) =>
      importsOf({ path: `test/${path}`, text }).map((found) => ({ path, ...found })),
    )
    .filter(({ target }) => target?.startsWith('src/'))
    .map(({ path, target = '' }) => ({ path, target: target.slice('src/'.length) }))
  // A command is a file of cli/, loaded when it is called.
  const isDoor = (target: string) => /(?:^|\/)index\.ts$|^entries\/|^cli\/[^/]+$/.test(target)
  const inside = imported.filter(({ target }) => !isDoor(target))
  const allowed = Object.values(TESTED_INSIDE).flat()

  test('import only indexes, entries, commands and the files listed above', () => {
    const bad = inside.filter(({ target }) => !allowed.includes(target))
    expect(bad.map(({ path, target }) => `test/${path} imports src/${target}`)).toEqual([])
  })

  test('import every file listed above', () => {
    const used = new Set(inside.map(({ target }) => target))
    expect(allowed.filter((file) => !used.has(file))).toEqual([])
  })
})

/** The main entry's shelf is core's with the defaults of Node, so it has the same name on purpose. */
const WRAPPED = ['ShelfOptions', 'createShelf']

/** The names that more than one file declares, each with its files. */
function sharedNames(source: typeof files): string[] {
  const places = new Map<string, string[]>()
  for (const file of source)
    for (const name of declaredExports(file)) places.set(name, [...(places.get(name) ?? []), file.path])
  return [...places].flatMap(([name, paths]) => (paths.length > 1 ? [`${name}: ${paths.join(', ')}`] : []))
}

describe('names', () => {
  test('no two files export different things under one name', () => {
    const isWrapped = (line: string) => WRAPPED.includes(line.slice(0, line.indexOf(':')))
    expect(sharedNames(files).filter((line) => !isWrapped(line))).toEqual([])
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

  test('a name that two files declare is seen, one that is only passed on is not', () => {
    const shared = sharedNames([
      { path: 'a.ts', text: 'export async function one() {}\nexport const { two, three: four } = given' },
      {
        path: 'b.ts',
        text: "export type one = string\nexport const six = 6\nexport class Five {}\nexport { four } from './a.ts'",
      },
      {
        path: 'c.ts',
        text: "// export const four = 4\nexport abstract class Five {}\nimport { six } from './d.ts'\nconst two = 2\nexport { two, six }",
      },
    ])
    expect(shared).toEqual(['one: a.ts, b.ts', 'two: a.ts, c.ts', 'Five: b.ts, c.ts'])
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
