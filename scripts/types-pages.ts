// Makes the pages events.md, entries.md and options.md of reference/ from the types and their doc comments. Part of
// `npm run reference`.

import { createMessagesMetrics } from '../packages/cli/src/http/messages/metrics.ts'
import { createMetricRegistry } from '../packages/core/src/metrics.ts'
import { createMcpMetrics } from '../packages/mcp/src/gateway/mcp-metrics.ts'
import { processSeries } from '../packages/server/src/operate/metrics.ts'
import { optionsPage, optionsPageTypes } from './options-page.ts'
import { type FieldDoc, readTypes, type TypeDoc, type VariantDoc } from './type-docs.ts'

/** A heading, an introduction, and the types below it, as `file#Name` with the file below packages/. */
type Section = { readonly heading: string; readonly text: string; readonly types: readonly string[] }

const events: readonly Section[] = [
  {
    heading: 'The stream of events',
    text: 'The library, both gateways and the agent report the same types of events. The option `trace` of `createShelf` is called with the events of a shelf. The option `trace` of `createAgent` is called with requests to the model, calls, results and permissions. The gateways (`createMcpGateway`, `createMessagesGateway`) call `openTrace` for each conversation, and the listener that it returns receives the events of that conversation. Events contain names, numbers, search queries and error messages of the API. Only the field `content` contains text of the conversation.',
    types: [
      'core/src/events.ts#Trace',
      'core/src/events.ts#ConversationKind',
      'core/src/events.ts#ClientIdentity',
      'core/src/events.ts#ToolShare',
      'core/src/events.ts#ReportedBreakCause',
      'core/src/events.ts#PrefixChange',
      'core/src/figures.ts#BilledTokens',
      'core/src/types.ts#Decision',
      'core/src/types.ts#DecisionReason',
      'core/src/types.ts#Origin',
    ],
  },
  {
    heading: 'The audit file',
    text: '`--audit <file>` of `toolshelf mcp`, `serve`, `run` and `chat` appends each event as a line of JSON with the fields of `TraceRecord` beside its own. The file is readable by you only. Each line is written before the program continues, so a process that is killed loses at most the line that it is writing. At 10 MB or after a week it becomes `<file>.1`, and so on; five files are kept. Secrets of the configuration and of environment variables whose names suggest one are replaced by `[hidden]`. `content` is left out; with `--audit-content` (not of `serve`, which runs no tools) it is there, and cut to a text after 16,000 characters. A line over 64,000 characters keeps only the fields of `TraceRecord` and `type`, and has `isCut`.',
    types: ['core/src/events.ts#TraceRecord'],
  },
  {
    heading: 'MCP servers: events of the host',
    text: '`host.listen(listener)` of `@toolshelf/mcp` reports these. `toolshelf mcp` writes what an operator should know of them to stderr, a line each.',
    types: ['mcp/src/types.ts#HostEvent', 'mcp/src/types.ts#ServerState'],
  },
  {
    heading: 'Messages gateway: log',
    text: '`toolshelf serve` writes one line per request to stdout; with `--json` that line is an object with the time, the fields of `RequestRecord`, and those of `outcome` and its `figures` beside them. `serveMessagesGateway({ onDone })` of `@toolshelf/messages` receives the record itself.',
    types: [
      'cli/src/http/messages/server.ts#RequestRecord',
      'messages/src/observe-reply.ts#RequestOutcome',
      'core/src/figures.ts#Figures',
    ],
  },
  {
    heading: 'Agent: events',
    text: '`agent.send(text)` of `@toolshelf/agent` yields these. `toolshelf run --stream-json` prints them as lines, with a shorter `request`: [the lines by example](../docs/guides/agent.md#--stream-json-a-line-for-each-event).',
    types: [
      'agent/src/types.ts#AgentEvent',
      'agent/src/types.ts#EndReason',
      'agent/src/types.ts#TokenUsage',
      'agent/src/types.ts#SentRequest',
    ],
  },
]

const entries: readonly Section[] = [
  {
    heading: '@toolshelf/mcp',
    text: 'Hosts MCP servers, and serves them through the MCP gateway.',
    types: [
      'mcp/src/host/host.ts#McpHostOptions',
      'mcp/src/gateway/gateway.ts#McpGatewayOptions',
      'mcp/src/gateway/stdio.ts#McpStdioOptions',
    ],
  },
  {
    heading: '@toolshelf/messages',
    text: 'Answers requests of the Messages API with tool search, in front of any model.',
    types: ['messages/src/gateway.ts#MessagesGatewayOptions'],
  },
  {
    heading: '@toolshelf/agent',
    text: 'Runs an agent: the loop, its tools and its permissions.',
    types: ['agent/src/types.ts#AgentOptions'],
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
