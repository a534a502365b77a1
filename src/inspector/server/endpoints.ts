// The table of the inspector's endpoints: which method each takes, and what answers it.
import type { Fields } from '../../lib/index.ts'
import { type About, type EventLine, endpoints } from '../api.ts'
import type { EventBatch } from '../events/index.ts'
import { runAction } from './actions.ts'
import { exportEvents } from './export.ts'
import { JSON_TYPE, respondJson, respondPieces } from './headers.ts'
import { saveHint } from './hints.ts'
import { changePins } from './pin-changes.ts'
import { RANKERS, searchPlayground } from './playground.ts'
import { InspectorFailure, readNames } from './read-input.ts'
import { serverViews } from './server-views.ts'
import { toolPieces } from './tool-views.ts'
import type { InspectedServers, InspectorOptions } from './types.ts'

/** A request to an endpoint. */
export type EndpointCall = {
  readonly request: Request
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
  closing: AbortSignal,
): ReadonlyMap<string, Endpoint> {
  const { feed } = options
  let streams = 0

  const get = (run: Endpoint['run']): Endpoint => ({ method: 'GET', run })
  const post = (run: (servers: InspectedServers, input: Fields) => Promise<unknown>): Endpoint => ({
    method: 'POST',
    run: async ({ input }) => respondJson(await run(serversOf(options), input)),
  })

  const manage = (run: (servers: InspectedServers, input: Fields) => Promise<unknown>) =>
    post(async (servers, input) => {
      if (!servers.canManage)
        throw new InspectorFailure(403, 'only the operator may do this, on the machine itself')
      return run(servers, input)
    })

  /** The stream ends with its reader, and counts until then. */
  async function* eventPieces(
    { request, query }: EndpointCall,
    ending: AbortSignal,
  ): AsyncGenerator<string, void> {
    const signal = AbortSignal.any([request.signal, closing, ending])
    const since = query.get('since') ?? undefined
    try {
      for await (const batch of feed.read({ signal, since, isFollowing: true })) yield linesOf(batch)
    } finally {
      streams--
    }
  }

  return new Map<string, Endpoint>([
    [endpoints.about, get(async () => respondJson(aboutOf(options)))],
    [
      endpoints.events,
      get(async (call) => {
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
      get(async () => respondJson(options.servers ? await serverViews(options.servers) : [])),
    ],
    [endpoints.tools, get(async () => respondPieces(toolPieces(options.servers), JSON_TYPE))],
    [endpoints.search, post((servers, input) => searchPlayground(servers, input))],
    [endpoints.hint, manage((servers, input) => saveHint(servers, input))],
    [endpoints.serverAction, manage((servers, input) => runAction(servers, input))],
    [endpoints.pins, manage((servers, input) => changePins(servers, input))],
    [
      endpoints.export,
      {
        method: 'POST',
        run: async ({ input, request }) => {
          const wanted = input.conversations
          const conversations = wanted === undefined ? undefined : readNames(wanted, 'conversations')
          return respondPieces(exportEvents(options, conversations, request.signal), JSON_TYPE)
        },
      },
    ],
  ])
}

function serversOf({ servers, source }: InspectorOptions): InspectedServers {
  if (servers) return servers
  throw new InspectorFailure(404, `toolshelf ${source} has no MCP servers; "toolshelf inspect" starts yours`)
}

function aboutOf({ version, source, feed, advice, servers }: InspectorOptions): About {
  const has = servers !== undefined
  return {
    version,
    source,
    can: {
      search: has,
      manageServers: servers?.canManage === true,
      saveHints: servers?.canManage === true && (servers.editable?.length ?? 0) > 0,
    },
    recording: { files: feed.files, isLive: true, advice },
    rankers: has ? RANKERS : [],
    window: WINDOW,
  }
}

function linesOf(batch: EventBatch): string {
  if ('lines' in batch) return batch.lines.map((line) => `${line}\n`).join('')
  const line: EventLine = { type: 'caught-up', ...batch.caughtUp }
  return `${JSON.stringify(line)}\n`
}
