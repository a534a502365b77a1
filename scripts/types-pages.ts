// Makes the pages events.md, entries.md and options.md of reference/ from the types and their doc comments. Part of
// `npm run reference`.
import { createMcpMetrics } from '../src/mcp/gateway/mcp-metrics.ts'
import { createMessagesMetrics } from '../src/messages/server/metrics.ts'
import { processSeries } from '../src/operate/metrics.ts'
import { createMetricRegistry } from '../src/operate/registry.ts'
import { optionsPage, optionsPageTypes } from './options-page.ts'
import { type FieldDoc, readTypes, type TypeDoc, type VariantDoc } from './type-docs.ts'

/** A heading, an introduction, and the types below it, as `file#Name` with the file below src/. */
type Section = { readonly heading: string; readonly text: string; readonly types: readonly string[] }

const events: readonly Section[] = [
  {
    heading: 'The stream of events',
    text: 'The library, both gateways and the agent report the same types of events. The option `trace` of `createShelf` is called with the events of a shelf. The option `trace` of `createAgent` is called with requests to the model, calls, results and permissions. The gateways (`createMcpGateway`, `createMessagesGateway`) call `openTrace` for each conversation, and the listener that it returns receives the events of that conversation. Events contain names, numbers, search queries and error messages of the API. Only the field `content` contains text of the conversation.',
    types: [
      'core/trace.ts#Trace',
      'core/trace.ts#ConversationKind',
      'core/trace.ts#ClientIdentity',
      'core/trace.ts#ToolShare',
      'core/trace.ts#ReportedBreakCause',
      'core/trace.ts#PrefixChange',
      'core/figures/figures.ts#BilledTokens',
      'core/types.ts#Decision',
      'core/types.ts#DecisionReason',
      'core/types.ts#Origin',
    ],
  },
  {
    heading: 'The audit file',
    text: '`--audit <file>` of `toolshelf mcp`, `serve`, `run` and `chat` appends each event as a line of JSON with the fields of `TraceRecord` beside its own. The file is readable by you only. Each line is written before the program continues, so a process that is killed loses at most the line that it is writing. At 10 MB or after a week it becomes `<file>.1`, and so on; five files are kept. Secrets of the configuration and of environment variables whose names suggest one are replaced by `[hidden]`. `content` is left out; with `--audit-content` (not of `serve`, which runs no tools) it is there, and cut to a text after 16,000 characters. A line over 64,000 characters keeps only the fields of `TraceRecord` and `type`, and has `isCut`.',
    types: ['core/trace.ts#TraceRecord'],
  },
  {
    heading: 'MCP servers: events of the host',
    text: '`host.listen(listener)` of `toolshelf/mcp` reports these. `toolshelf mcp` writes what an operator should know of them to stderr, a line each.',
    types: ['mcp/types.ts#HostEvent', 'mcp/types.ts#ServerState'],
  },
  {
    heading: 'Messages gateway: log',
    text: '`toolshelf serve` writes one line per request to stdout; with `--json` that line is an object with the time, the fields of `RequestRecord`, and those of `outcome` and its `figures` beside them. `serveMessagesGateway({ onDone })` of `toolshelf/messages` receives the record itself.',
    types: [
      'messages/server/server.ts#RequestRecord',
      'messages/request-outcome.ts#RequestOutcome',
      'core/figures/figures.ts#Figures',
    ],
  },
  {
    heading: 'Agent: events',
    text: '`agent.send(text)` of `toolshelf/agent` yields these. `toolshelf run --stream-json` prints them as lines, with a shorter `request`: [the lines by example](../docs/guides/agent.md#--stream-json-a-line-for-each-event).',
    types: [
      'agent/types.ts#AgentEvent',
      'agent/types.ts#EndReason',
      'agent/types.ts#TokenUsage',
      'agent/types.ts#SentRequest',
    ],
  },
]

const entries: readonly Section[] = [
  {
    heading: 'toolshelf/mcp',
    text: 'Hosts MCP servers, and serves them through the MCP gateway.',
    types: [
      'mcp/host/host.ts#McpHostOptions',
      'mcp/gateway/gateway.ts#McpGatewayOptions',
      'mcp/gateway/stdio.ts#McpStdioOptions',
      'mcp/http/http.ts#McpHttpOptions',
    ],
  },
  {
    heading: 'toolshelf/messages',
    text: 'Serves the Messages API in front of any model.',
    types: ['messages/gateway.ts#MessagesGatewayOptions', 'messages/server/server.ts#MessagesHttpOptions'],
  },
  {
    heading: 'toolshelf/agent',
    text: 'Runs an agent: the loop, its tools and its permissions.',
    types: ['agent/types.ts#AgentOptions'],
  },
]

/** The pages by their file names below reference/. */
export function typesPages(): { readonly [name: string]: string } {
  const sections = [...events, ...entries]
  const places = sections.flatMap(({ types }) => types)
  const read = readTypes([...places, ...optionsPageTypes])
  const docs = read.slice(0, places.length)
  const docsOf = ({ types }: Section) =>
    types
      .map((place) => docs.find(({ name }) => place.endsWith(`#${name}`)))
      .filter((doc) => doc !== undefined)
  const written = (list: readonly Section[], level: string) =>
    list.map((section) => {
      const parts = docsOf(section).map((doc) => typeText(doc, level))
      return [`## ${section.heading}`, section.text, ...parts].join('\n\n')
    })
  return {
    'events.md': page('Events and logs', [
      'What Toolshelf reports while it runs. Generated from the types by `npm run reference`.',
      ...written(events, '###'),
      metricsText(
        'Messages gateway: metrics',
        'The Messages gateway counts these.',
        createMessagesMetrics().text(),
      ),
      metricsText('MCP gateway: metrics', '`mcp --http` counts these.', createMcpMetrics().text()),
      metricsText(
        'Metrics of the process',
        'Both gateways report these.',
        createMetricRegistry(processSeries).text(),
      ),
    ]),
    'entries.md': page('Options of the other entry points', [
      'Generated from the types by `npm run reference`. The options of `createShelf` are on [a page of their own](options.md#options).',
      ...written(entries, '###'),
    ]),
    'options.md': optionsPage(read.slice(places.length)),
  }
}

const page = (title: string, parts: readonly string[]) => `# ${title}\n\n${parts.join('\n\n')}\n`

function typeText({ name, about, text, variants }: TypeDoc, level: string): string {
  const [only] = variants
  const isObject = variants.some(({ fields }) => fields.length > 0)
  const head = [`${level} ${name}`, ...(about === '' ? [] : [about])]
  if (!isObject) return [...head, `\`${text}\``].join('\n\n')
  if (variants.length === 1 && only) return [...head, table(only.fields)].join('\n\n')
  return [...head, ...variants.map((variant) => variantText(variant, `${level}#`))].join('\n\n')
}

/** One object of a union, under the value of its `type`. */
function variantText({ about, fields }: VariantDoc, level: string): string {
  const kind = fields.find(({ name }) => name === 'type')
  const others = fields.filter((field) => field !== kind)
  const heading = (kind?.type ?? '').replaceAll("'", '').replaceAll(' | ', ', ')
  return [`${level} ${heading}`, about, ...(others.length > 0 ? [table(others)] : [])].join('\n\n')
}

function table(fields: readonly FieldDoc[]): string {
  const rows = fields.map(({ name, type, isOptional, about }) => {
    const cells = [
      `\`${name}\`${isOptional ? ', optional' : ''}`,
      `\`${type.replaceAll('|', '\\|')}\``,
      about,
    ]
    return `| ${cells.join(' | ')} |`
  })
  return ['| Field | Type | |', '|---|---|---|', ...rows].join('\n')
}

/** The counters of `/metrics`, from the page that Prometheus reads. */
function metricsText(heading: string, about: string, text: string): string {
  const kinds = new Map([...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, kind]) => [name, kind]))
  const rows = [...text.matchAll(/^# HELP (\w+) (.+)$/gm)].map(
    ([, name, help]) => `| \`${name}\` | ${kinds.get(name)} | ${help} |`,
  )
  return [
    `## ${heading}`,
    `\`GET /metrics\` answers in the format of Prometheus. ${about}`,
    ['| Name | Kind | |', '|---|---|---|', ...rows].join('\n'),
  ].join('\n\n')
}
