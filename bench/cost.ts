// Measures a warm turn: time and memory of `prepare` as the conversation and the pool grow, compared with serialising
// the same request. After the first turn the cost must depend only on what is new.
import { createShelf, type Tool } from '../packages/core/src/index.ts'
import { median, report, table } from './report.ts'

const TURNS = 40
const lengths = [10, 100, 1_000, 10_000]
const pools = [100, 1_000, 10_000]

type Measured = { pool: number; length: number; first: number; turn: number; bytes: number; json: number }

const collect = (globalThis as { gc?: () => void }).gc
const measured: Measured[] = []
for (const pool of pools) for (const length of lengths) measured.push(await measure(pool, length))

const micros = (milliseconds: number) => Math.round(milliseconds * 1000)
const rows = measured.map(({ pool, length, first, turn, bytes, json }) => {
  const base = measured.find((other) => other.pool === pool && other.length === 100)?.turn ?? turn
  return [
    pool,
    length,
    micros(first),
    micros(turn),
    `${(turn / base).toFixed(2)}×`,
    micros(json),
    `${(turn / json).toFixed(3)}×`,
    (bytes / 1024).toFixed(1),
  ]
})
const header = [
  'tools',
  'messages',
  'first turn µs',
  'warm turn µs',
  'to 100 messages',
  'JSON.stringify µs',
  'to stringify',
  'KiB allocated',
]
const worstGrowth = Math.max(
  ...measured.filter(({ length }) => length === 10_000).map((row) => row.turn / baseOf(row)),
)
const worstShare = Math.max(
  ...measured.filter(({ length }) => length === 10_000).map(({ turn, json }) => turn / json),
)
report('Cost of a turn', 'npm run bench cost', [
  ...table(header, rows),
  '',
  `A turn at 10,000 messages costs at most ${worstGrowth.toFixed(2)}× one at 100 (goal: under 5×) and ${worstShare.toFixed(3)}× of JSON.stringify of the same request (goal: at most 0.1×).`,
])

function baseOf({ pool }: Measured): number {
  return measured.find((other) => other.pool === pool && other.length === 100)?.turn ?? 1
}

async function measure(pool: number, length: number): Promise<Measured> {
  const shelf = createShelf({ tools: toolsOf(pool), contextWindow: 1_000_000, environment: {} })
  const messages: object[] = []
  while (messages.length < length) await addTurn(messages, shelf, messages.length % 50 === 0)
  const request = () => ({ model: 'claude-opus-4-6', max_tokens: 100, messages })
  const start = performance.now()
  let prepared = await shelf.prepare(request())
  const first = performance.now() - start
  for (let turn = 0; turn < 10; turn++) {
    await addTurn(messages, shelf, false)
    await shelf.prepare(request())
  }
  const times: number[] = []
  const allocations: number[] = []
  for (let turn = 0; turn < TURNS; turn++) {
    await addTurn(messages, shelf, false)
    if (turn % 10 === 0) collect?.()
    const before = process.memoryUsage().heapUsed
    const begin = performance.now()
    prepared = await shelf.prepare(request())
    times.push(performance.now() - begin)
    allocations.push(process.memoryUsage().heapUsed - before)
  }
  const stringify: number[] = []
  for (let round = 0; round < 9; round++) {
    const begin = performance.now()
    JSON.stringify(prepared.request)
    stringify.push(performance.now() - begin)
  }
  const bytes = median(allocations.filter((value) => value > 0))
  return { pool, length, first, turn: median(times), bytes, json: median(stringify) }
}

async function addTurn(
  messages: object[],
  shelf: ReturnType<typeof createShelf>,
  isSearch: boolean,
): Promise<void> {
  const id = `toolu_${messages.length}`
  const call = isSearch
    ? { type: 'tool_use', id, name: 'ToolSearch', input: { query: `select:${nameOf(messages.length % 90)}` } }
    : { type: 'tool_use', id, name: 'Read', input: { path: `src/file-${messages.length}.ts` } }
  if (messages.length === 0)
    messages.push({ role: 'user', content: 'Read the sources and tell me what they do.' })
  messages.push({ role: 'assistant', content: [{ type: 'text', text: 'Reading on.' }, call] })
  const result = (await shelf.answer(call)) ?? shelf.result(call, 'export const answer = 42\n'.repeat(20))
  messages.push({ role: 'user', content: [result] })
}

function nameOf(index: number): string {
  return `mcp__server${index % 20}__tool_${index}`
}

function toolsOf(count: number): Tool[] {
  const input_schema = {
    type: 'object',
    properties: { path: { type: 'string', description: 'Where to look' }, limit: { type: 'number' } },
    required: ['path'],
  }
  const builtIns = ['Read', 'Write', 'Edit', 'Bash', 'Grep'].map((name) => ({
    name,
    description: name,
    input_schema,
  }))
  const deferred = Array.from({ length: count }, (_, index) => ({
    name: `tool_${index}`,
    server: `server${index % 20}`,
    description: `Does thing number ${index} for the service, in the usual way.`,
    input_schema: { ...input_schema },
  }))
  return [...builtIns, ...deferred]
}
