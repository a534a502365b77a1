// Converts the files of public benchmarks to one form: tools, and queries with the names of the tools they ask for. Pure.
// A tool that a benchmark names but does not define cannot be found; a query with no other answer is left out.
import type { Tool } from '../../packages/core/src/index.ts'
import type { EvaluationQuery } from '../../packages/core/src/search/evaluate.ts'

export type CatalogueSet = { readonly tools: readonly Tool[]; readonly queries: readonly EvaluationQuery[] }

/** The texts of a source's files, by path. */
export type SourceFiles = ReadonlyMap<string, string>

/** LiveMCPBench: whole tasks, their single steps where each has one tool, and what an agent asked its router for. */
export function convertLiveMcpBench(files: SourceFiles): CatalogueSet {
  type Server = {
    tools: Record<string, { tools: { name: string; description?: string; inputSchema?: object }[] }>
  }
  const tools = json<Server[]>(files, 'tools.json').flatMap((server) =>
    Object.entries(server.tools).flatMap(([key, list]) =>
      list.tools.map((tool) => ({
        name: liveName(key, tool.name),
        description: tool.description ?? '',
        input_schema: tool.inputSchema ?? {},
        server: key,
        own: tool.name,
      })),
    ),
  )
  const named = new Map<string, string[]>()
  for (const { name, own } of tools) named.set(own, [...(named.get(own) ?? []), name])
  const queries = [
    ...json<Annotation[]>(files, 'all_annotations.json').flatMap((task) => liveTask(task, named)),
    ...json<AgentRun[]>(files, 'Embedding-0.6B.json').flatMap(({ messages }, index) =>
      routerQueries(messages, index, new Set(tools.map(({ name }) => name))),
    ),
  ]
  return { tools: tools.map(({ own: _, ...tool }) => tool), queries }
}

type Annotation = {
  task_id: string
  Question: string
  'Annotator Metadata': { Steps: string; Tools: string }
}

function liveName(server: string, tool: string): string {
  return `mcp__${server}__${tool}`
}

/** Annotations name tools without their server: of several with the name, the first is the gold, the others do as well. */
function liveTask(task: Annotation, named: ReadonlyMap<string, readonly string[]>): EvaluationQuery[] {
  const { Steps, Tools } = task['Annotator Metadata']
  const [steps, names] = [numberedLines(Steps), numberedLines(Tools)]
  const queryOf = (id: string, kind: string, query: string, wanted: readonly string[]): EvaluationQuery[] => {
    const found = [...new Set(wanted)].flatMap((name) => {
      const list = named.get(name)
      return list ? [list] : []
    })
    if (found.length === 0) return []
    const gold = found.map(([first]) => first!)
    const acceptable = found.flatMap((list) => list.slice(1))
    return [{ id, kind, query, gold, ...(acceptable.length > 0 ? { acceptable } : {}) }]
  }
  return [
    ...queryOf(task.task_id, 'task', task.Question, names),
    ...(steps.length === names.length
      ? steps.flatMap((step, index) => queryOf(`${task.task_id}-${index}`, 'step', step, [names[index]!]))
      : []),
  ]
}

function numberedLines(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.replace(/^\s*\d+\s*[.)、]\s*/, '').trim())
    .filter((line) => line !== '')
}

type AgentRun = {
  messages: {
    role: string
    content?: string | null
    tool_call_id?: string
    tool_calls?: { id: string; function: { name: string; arguments: string } }[]
  }[]
}

/** What an agent typed into its router; the answers are the tools that the router showed it and that it then called. */
function routerQueries(
  messages: AgentRun['messages'],
  run: number,
  known: ReadonlySet<string>,
): EvaluationQuery[] {
  const searches: { id: string; query: string; answer: string; gold: Set<string> }[] = []
  for (const { content, tool_call_id, tool_calls = [] } of messages) {
    const answered = searches.find(({ id }) => id === tool_call_id)
    if (answered) answered.answer = content ?? ''
    for (const { id, function: call } of tool_calls ?? []) {
      const input = parsed(call.arguments)
      if (call.name === 'route')
        searches.push({ id, query: routed(input.query), answer: '', gold: new Set() })
      if (call.name !== 'execute-tool') continue
      const name = liveName(String(input.server_name), String(input.tool_name))
      const showed = searches.findLast(
        ({ answer }) =>
          answer.includes(`server_name: ${input.server_name}`) &&
          answer.includes(`tool_name: ${input.tool_name}`),
      )
      if (known.has(name)) showed?.gold.add(name)
    }
  }
  return searches
    .filter(({ query, gold }) => query !== '' && gold.size > 0)
    .map(({ query, gold }, index) => ({ id: `agent-${run}-${index}`, kind: 'agent', query, gold: [...gold] }))
}

/** The router takes `server: …` and `tool: …` on lines of their own, within a tag. */
function routed(query: unknown): string {
  return String(query ?? '')
    .replace(/<\/?tool_assistant>/g, ' ')
    .replace(/^\s*(?:server|tool):/gm, ' ')
    .replace(/\s+/g, ' ')
    .trim()
}

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return {}
  }
}

/** Queries taken of each tool: the file has up to 1,122 of one tool, and 9 of another. */
const METATOOL_QUERIES_PER_TOOL = 10

/** MetaTool: what users say, for one tool (`single`) or two (`multi`). */
export function convertMetaTool(files: SourceFiles): CatalogueSet {
  const tools = Object.entries(json<Record<string, string>>(files, 'plugin_des.json')).map(
    ([name, description]) => ({ name, description, input_schema: { type: 'object', properties: {} } }),
  )
  const byTool = new Map<string, string[]>(tools.map(({ name }) => [name, []]))
  for (const [query, tool] of csvRows(text(files, 'all_clean_data.csv')).slice(1))
    if (query && tool) byTool.get(tool)?.push(query)
  const single = [...byTool].flatMap(([tool, queries]) =>
    evenly(queries, METATOOL_QUERIES_PER_TOOL).map((query, index) => ({
      id: `single-${tool}-${index}`,
      kind: 'single',
      query,
      gold: [tool],
    })),
  )
  type Golden = { query: string; tool: string[] }
  const multi = json<Golden[]>(files, 'multi_tool_query_golden.json').map(({ query, tool }, index) => ({
    id: `multi-${index}`,
    kind: 'multi',
    query,
    gold: tool,
  }))
  return {
    tools,
    queries: [...single, ...multi].filter(({ gold }) => gold.every((name) => byTool.has(name))),
  }
}

/** BFCL: the functions of all Python cases pooled, the first definition of a name; queries of the cases that have a choice. */
export function convertBfcl(files: SourceFiles): CatalogueSet {
  type Case = {
    id: string
    question: { role: string; content: string }[][]
    function: { name: string; description?: string; parameters?: object }[]
  }
  const tools = new Map<string, Tool>()
  const asked = new Map<string, string>()
  for (const [path, content] of files) {
    if (path.includes('possible_answer/')) continue
    for (const { id, question, function: functions } of jsonLines<Case>(content)) {
      for (const { name, description = '', parameters = {} } of functions)
        if (!tools.has(name)) tools.set(name, { name, description, input_schema: pythonSchema(parameters) })
      const said = question[0]?.filter(({ role }) => role === 'user').map(({ content }) => content)
      asked.set(id, (said ?? []).join('\n').trim())
    }
  }
  const queries: EvaluationQuery[] = []
  for (const [path, content] of files) {
    const kind = /possible_answer\/BFCL_v\d+_(\w+)\.json$/.exec(path)?.[1]
    if (kind === undefined) continue
    for (const { id, ground_truth } of jsonLines<{ id: string; ground_truth: object[] }>(content)) {
      const gold = [...new Set(ground_truth.flatMap((call) => Object.keys(call)))]
      const query = asked.get(id) ?? ''
      if (query !== '' && gold.length > 0 && gold.every((name) => tools.has(name)))
        queries.push({ id, kind, query, gold })
    }
  }
  return { tools: [...tools.values()], queries }
}

/** Seal-Tools: tools and queries written by a language model; the two test splits. */
export function convertSealTools(files: SourceFiles): CatalogueSet {
  type Api = {
    api_name: string
    api_description: string
    parameters: Record<string, object>
    required?: string[]
  }
  type Case = { id: string; query: string; calling: { api: string }[] }
  const tools = jsonLines<Api>(text(files, 'tool.jsonl')).map((api) => ({
    name: api.api_name,
    description: api.api_description,
    input_schema: pythonSchema({
      type: 'object',
      properties: api.parameters,
      required: api.required ?? [],
    }),
  }))
  const known = new Set(tools.map(({ name }) => name))
  const cases = ['test_in_domain.jsonl', 'test_out_domain.jsonl'].flatMap((name) =>
    jsonLines<Case>(text(files, name)),
  )
  const queries = cases.map(({ id, query, calling }) => {
    const gold = [...new Set(calling.map(({ api }) => api))]
    return { id, kind: gold.length > 1 ? 'multi' : 'single', query, gold }
  })
  return { tools, queries: queries.filter(({ gold }) => gold.every((name) => known.has(name))) }
}

const JSON_TYPES: Readonly<Record<string, string>> = {
  dict: 'object',
  str: 'string',
  int: 'integer',
  float: 'number',
  bool: 'boolean',
  list: 'array',
  tuple: 'array',
}

/** Replaces Python's names of types, at any depth. */
function pythonSchema(schema: object): object {
  return JSON.parse(JSON.stringify(schema), (key, value) =>
    key === 'type' && typeof value === 'string' ? (JSON_TYPES[value] ?? value) : value,
  ) as object
}

/** Returns at most this many items, evenly spaced. */
export function evenly<Item>(items: readonly Item[], most: number): Item[] {
  if (items.length <= most) return [...items]
  return Array.from({ length: most }, (_, index) => items[Math.floor((index * items.length) / most)]!)
}

/** Rows of a CSV file with double quotes, as RFC 4180 has them. */
export function csvRows(content: string): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  for (const [, quoted, plain = '', end] of content.matchAll(
    /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g,
  )) {
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    if (end === ',') continue
    if (row.length > 1 || row[0] !== '') rows.push(row)
    row = []
  }
  return rows
}

function text(files: SourceFiles, ending: string): string {
  for (const [path, content] of files) if (path.endsWith(ending)) return content
  throw new Error(`a source has no file ${ending}`)
}

function json<Value>(files: SourceFiles, ending: string): Value {
  return JSON.parse(text(files, ending)) as Value
}

function jsonLines<Value>(content: string): Value[] {
  return content
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as Value)
}
