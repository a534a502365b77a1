// K4: counts definition tokens over 20 turns with 147 real MCP tools and 25 built-ins, with and without deferral; and the
// three figures that every change reports together: prompt tokens, cache prefix, and (in the search bench) recall.
// A search is an extra request, with everything that it contains.

import { createShelf, estimateTokens, type Shelf } from '../packages/core/src/index.ts'
import { countTokens, extendsPrefix, renderRequest } from '../packages/core/src/reading.ts'
import { readCatalogue } from './catalogue.ts'
import { report, table } from './report.ts'

const MODEL = 'claude-opus-4-6'
const TURNS = 20
const SERVERS = [
  'github',
  'slack',
  'notion',
  'filesystem',
  'playwright',
  'chrome-devtools',
  'jira-aashari',
  'sentry',
  'gitlab',
]

/** As a model that has read the names: by keywords when unsure, by name when sure. */
const SEARCHES = new Map([
  [1, 'github create issue'],
  [4, 'select:mcp__filesystem__read_text_file'],
  [9, '+slack post message'],
  [13, 'select:mcp__playwright__browser_navigate,mcp__playwright__browser_click'],
])

const catalogue = readCatalogue()
const mcpTools = catalogue.filter(({ server }) => SERVERS.includes(server ?? '')).slice(0, 147)
const builtIns = catalogue
  .filter(({ server }) => !SERVERS.includes(server ?? ''))
  .slice(0, 25)
  .map(({ server: _, ...tool }, index) => ({ ...tool, name: `BuiltIn${index}` }))

const tools = [...builtIns, ...mcpTools]
const plain = await run(createShelf({ tools, toolSearch: false, environment: {} }))
const shelved = await run(createShelf({ tools, toolSearch: true, environment: {} }))
const search = (
  await createShelf({ tools, environment: {} }).prepare({
    model: MODEL,
    messages: [{ role: 'user', content: 'a' }],
  })
).request
const searchTokens = estimateTokens(JSON.stringify(search.tools[0]))

// Built-ins are there either way; what deferral can save is the definitions of the deferrable tools.
const builtInTokens =
  TURNS * builtIns.reduce((sum, { name }) => sum + definitionTokens(name, plain.definitions), 0)
const saved = 1 - (shelved.total - builtInTokens) / (plain.total - builtInTokens)
report('Tokens and cache', 'npm run bench tokens <tools.jsonl>', [
  `${mcpTools.length} real MCP tools of ${new Set(mcpTools.map(({ server }) => server)).size} servers and ${builtIns.length} built-ins, ${TURNS} turns, searches: ${[...SEARCHES.values()].join('; ')}.`,
  '',
  ...table(
    ['', 'requests', 'definition tokens in all of them', 'first request', 'last request', 'prefix kept'],
    [plain, shelved].map(({ rounds, total, first, last, kept }, index) => [
      ['everything loaded', 'deferred'][index] ?? '',
      rounds,
      total,
      first,
      last,
      `${kept} of ${rounds - 1}`,
    ]),
  ),
  '',
  `MCP definition tokens: ${(100 * saved).toFixed(1)} % saved (goal: at least 85 %), search tool, announcements and loaded definitions counted.`,
  `The search tool: ${searchTokens} tokens (goal: at most 500). One discovery without the definitions it loads: ${Math.round(shelved.discovery)} tokens (goal: about 200).`,
])

async function run(shelf: Shelf) {
  const messages: object[] = [{ role: 'user', content: 'Work through the list.' }]
  const definitions = new Map<string, number>()
  let previous: ReturnType<typeof renderRequest> | undefined
  let [total, first, last, kept, discovery, rounds] = [0, 0, 0, 0, 0, 0]
  const ask = async (call: { type: string; id: string; name: string; input: object }) => {
    const { request } = await shelf.prepare({ model: MODEL, max_tokens: 100, messages })
    for (const tool of request.tools) definitions.set(tool.name, estimateTokens(JSON.stringify(tool)))
    const segments = renderRequest(request)
    const ours = segments.filter(
      ({ kind, text }) => kind === 'tools' || kind === 'functions' || text.includes('<system-reminder>'),
    )
    const tokens = ours.reduce((sum, { text }) => sum + estimateTokens(text), 0)
    rounds++
    total += tokens
    first ||= tokens
    last = tokens
    if (previous && extendsPrefix(previous, segments).extends) kept++
    previous = segments
    messages.push({ role: 'assistant', content: [call] })
    const result = (await shelf.answer(call)) ?? shelf.result(call, 'fine')
    messages.push({ role: 'user', content: [result] })
  }
  const { decision } = await shelf.fork().prepare({ model: MODEL, max_tokens: 100, messages })
  for (let turn = 0; turn < TURNS; turn++) {
    const query = decision.open ? SEARCHES.get(turn) : undefined
    if (query) {
      await ask({ type: 'tool_use', id: `toolu_s${turn}`, name: 'ToolSearch', input: { query } })
      discovery += countTokens({ messages: messages.slice(-2) }) / SEARCHES.size
    }
    await ask({ type: 'tool_use', id: `toolu_${turn}`, name: 'BuiltIn0', input: {} })
  }
  return { total, first, last, kept, discovery, definitions, rounds }
}

function definitionTokens(name: string, definitions: Map<string, number>): number {
  return definitions.get(name) ?? 0
}
