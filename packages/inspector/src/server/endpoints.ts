// The table of the inspector's endpoints: which method each takes, and what answers it.
import type { TraceRecord } from '@toolshelf/core/internal'
import { type Fields, omitFields, toJson } from '@toolshelf/core/internal'
import { auditLine } from '@toolshelf/core/internal/node'
import { type About, type EventLine, type ExportView, endpoints } from '../api.ts'
import type { EventBatch } from '../events/files.ts'
import { acceptChanges, runAction, saveHint } from './manage.ts'
import { JSON_TYPE, respondJson, respondPieces } from './page.ts'
import { RANKERS, searchPlayground } from './playground.ts'
import type { FindReader, Reader } from './readers.ts'
import {
  type InspectedServers,
  InspectorFailure,
  type InspectorOptions,
  type ManagedServers,
  readNames,
} from './types.ts'
import { serverViews, toolPieces } from './views.ts'

/** A request to an endpoint. */
export type EndpointCall = {
  readonly request: Request
  readonly reader: Reader
  readonly query: URLSearchParams
  readonly input: Fields
}

/** An endpoint of the page. */
export type Endpoint = {
  readonly method: 'GET' | 'POST'
  readonly run: (call: EndpointCall) => Promise<Response>
}

/** Streams of events at once: each page has one. */
const MAX_STREAMS = 32
/** Tokens of the window that shares are shown of. */
const WINDOW = 200_000

/**
 * Creates the table, by path.
 * @param closing - Ends the streams when the process ends.
 */
export function createEndpointTable(
  options: InspectorOptions,
  findReader: FindReader,
  closing: AbortSignal,
): ReadonlyMap<string, Endpoint> {
  const { feed } = options
  let streams = 0

  const get = (run: Endpoint['run']): Endpoint => ({ method: 'GET', run })
  const post = (run: Endpoint['run']): Endpoint => ({ method: 'POST', run })
  const manage = (run: (servers: ManagedServers, input: Fields) => Promise<unknown>) =>
    post(async ({ reader, input }) => respondJson(await run(managedBy(reader, options), input)))

  /** The stream ends with its reader, and when their key opens the page no longer; it counts until then. */
  async function* eventPieces(
    { request, query }: EndpointCall,
    ending: AbortSignal,
  ): AsyncGenerator<string, void> {
    const signal = AbortSignal.any([request.signal, closing, ending])
    const since = query.get('since') ?? undefined
    try {
      for await (const batch of feed.read({ signal, since, isFollowing: true })) {
        const mayRead = await findReader(request).then(
          ({ seesConversations }) => seesConversations,
          () => false,
        )
        if (!mayRead) return
        yield linesOf(batch)
      }
    } finally {
      streams--
    }
  }

  return new Map<string, Endpoint>([
    [endpoints.about, get(async ({ reader }) => respondJson(aboutOf(options, reader)))],
    [
      endpoints.events,
      get(async (call) => {
        requireConversations(call.reader)
        if (streams >= MAX_STREAMS)
          throw new InspectorFailure(503, `${MAX_STREAMS} pages are open already; close one`)
        streams++
        const ending = new AbortController()
        const pieces = eventPieces(call, ending.signal)
        return respondPieces(pieces, 'application/x-ndjson; charset=utf-8', () => ending.abort())
      }),
    ],
    [
      endpoints.servers,
      get(async ({ reader }) => respondJson(reader.servers ? await serverViews(reader.servers) : [])),
    ],
    [endpoints.tools, get(async ({ reader }) => respondPieces(toolPieces(reader.servers), JSON_TYPE))],
    [
      endpoints.search,
      post(async ({ reader, input }) =>
        respondJson(
          await searchPlayground(serversOf(reader, options), input, () => reader.work.use('searches')),
        ),
      ),
    ],
    [endpoints.hint, manage((servers, input) => saveHint(servers, input))],
    [endpoints.serverAction, manage((servers, input) => runAction(servers, input))],
    [endpoints.pins, manage(acceptChanges)],
    [
      endpoints.export,
      post(async ({ reader, input, request }) => {
        requireConversations(reader)
        const wanted = input.conversations
        const conversations = wanted === undefined ? undefined : readNames(wanted, 'conversations')
        return respondPieces(exportEvents(options, conversations, request.signal), JSON_TYPE)
      }),
    ],
  ])
}

function serversOf({ servers }: Reader, { source }: InspectorOptions): InspectedServers {
  if (servers) return servers
  throw new InspectorFailure(404, `toolshelf ${source} has no MCP servers; "toolshelf inspect" starts yours`)
}

function managedBy(reader: Reader, options: InspectorOptions): ManagedServers {
  const servers = serversOf(reader, options)
  const { manage } = servers
  if (manage) return { ...servers, manage }
  throw new InspectorFailure(403, 'this needs the key that the process printed when it started')
}

function requireConversations({ seesConversations }: Reader): void {
  if (seesConversations) return
  throw new InspectorFailure(
    403,
    'your profile hides servers or tools, and conversations of others name them',
  )
}

function aboutOf({ version, source, feed, advice }: InspectorOptions, reader: Reader): About {
  const { servers, seesConversations } = reader
  return {
    version,
    source,
    can: {
      conversations: seesConversations,
      search: servers !== undefined,
      manageServers: servers?.manage !== undefined,
      saveHints: servers?.manage?.canSaveHints === true,
    },
    recording: { files: feed.files, isLive: true, advice },
    rankers: servers ? RANKERS : [],
    window: WINDOW,
  }
}

function linesOf(batch: EventBatch): string {
  if ('lines' in batch) return batch.lines.map((line) => `${line}\n`).join('')
  const line: EventLine = { type: 'caught-up', ...batch.caughtUp }
  return `${JSON.stringify(line)}\n`
}

/**
 * Yields the lines of the file.
 * @param conversations - Their ids; all if undefined. Events of no conversation, such as those of servers, always count.
 */
async function* exportEvents(
  { feed, redact, home }: InspectorOptions,
  conversations: readonly string[] | undefined,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  const wanted = conversations && new Set(conversations)
  const counted = { secrets: 0, homes: 0, contents: 0 }
  const hide = (text: string) => (home ? redact(text).replaceAll(home, '~') : redact(text))
  /** Counts in the finished line, because texts may be replaced several times before. */
  const exported = (record: TraceRecord) => {
    const line = auditLine(record, { redact: hide })
    const before = toJson(omitFields(record, 'content'))
    counted.secrets += Math.max(0, occurrences(line, HIDDEN) - occurrences(before, HIDDEN))
    if (home) counted.homes += occurrences(before, JSON.stringify(home).slice(1, -1))
    return line
  }
  const head: Omit<ExportView, 'events' | 'redactions'> = { format: 'toolshelf-events', version: 1 }
  yield `${JSON.stringify(head).slice(0, -1)},"events":[`
  let isFirst = true
  for await (const batch of feed.read({ signal, isFollowing: false })) {
    if (!('lines' in batch)) continue
    const lines = batch.lines.flatMap((line) => {
      const record = JSON.parse(line) as TraceRecord & { readonly content?: unknown }
      if (wanted && record.conversation !== undefined && !wanted.has(record.conversation)) return []
      if (record.content !== undefined) counted.contents++
      return [exported(record)]
    })
    if (lines.length === 0) continue
    yield (isFirst ? '\n' : ',\n') + lines.join(',\n')
    isFirst = false
  }
  const redactions: ExportView['redactions'] = [
    { what: 'secrets', count: counted.secrets },
    { what: 'arguments and results', count: counted.contents },
    { what: 'the home folder', count: counted.homes },
  ].filter(({ count }) => count > 0)
  yield `\n],"redactions":${JSON.stringify(redactions)}}`
}

/** What replaces a secret. */
const HIDDEN = '[hidden]'

function occurrences(text: string, part: string): number {
  return text.split(part).length - 1
}
