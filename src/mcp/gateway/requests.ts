// The requests of a client, of either protocol era.
import { ProtocolError, type Server, type ServerContext } from '@modelcontextprotocol/server'
import type { Asker, McpHost, Progress } from '../types.ts'
import { canAnswer, capabilitiesOf } from './capabilities.ts'
import type { Desk } from './desk.ts'
import type { Exchanges, Work } from './exchanges.ts'
import type { Offers } from './offers.ts'
import type { Relisting } from './relisting.ts'
import { sendable } from './sendable.ts'

type Fields = { readonly [name: string]: unknown }
type Request = ServerContext['mcpReq']

export type RequestOptions = {
  readonly server: Server
  readonly isStateless: boolean
  /** Asks the client outside of a call, if it is the only one. */
  readonly askOutside: Asker['ask']
  readonly host: McpHost
  readonly desk: Desk
  readonly offers: Offers
  readonly exchanges: Exchanges
  readonly relisting: Relisting
  readonly ready: (() => Promise<unknown>) | undefined
}

export function answerRequests(options: RequestOptions): void {
  const { server, isStateless, askOutside, host, desk, offers, exchanges, relisting, ready } = options

  /** The servers start with the first request: only then is known what their client can do. */
  const begin = ({ envelope }: Request) => host.start(capabilitiesOf(server, envelope))

  /** Runs what a server may ask back in. */
  async function inExchange(request: Request, work: Work<unknown>): Promise<never> {
    const capabilities = capabilitiesOf(server, request.envelope)
    const caller = {
      client: server,
      isStateless,
      capabilities,
      canAnswer: (method: string) => canAnswer(capabilities, method),
      onProgress: progressFor(request),
      askOutside,
    }
    return (await exchanges.run(request, caller, work)) as never
  }

  server.setRequestHandler('tools/list', async (_, { mcpReq }) => {
    begin(mcpReq)
    relisting.listed()
    return { tools: desk.tools() as never[] }
  })
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    begin(mcpReq)
    await ready?.()
    return inExchange(mcpReq, (asker, signal, onProgress) =>
      desk.call(params.name, params.arguments, { asker, signal, onProgress }),
    )
  })
  server.setRequestHandler('resources/list', async (_, { mcpReq }) => {
    begin(mcpReq)
    return { resources: (await offers.resources()) as never[] }
  })
  server.setRequestHandler('resources/templates/list', async (_, { mcpReq }) => {
    begin(mcpReq)
    return { resourceTemplates: (await offers.templates()) as never[] }
  })
  server.setRequestHandler('resources/read', ({ params }, { mcpReq }) =>
    inExchange(mcpReq, (asker, signal, onProgress) =>
      offers.readResource(params.uri, { asker, signal, onProgress }).catch(ownError),
    ),
  )
  server.setRequestHandler('prompts/list', async (_, { mcpReq }) => {
    begin(mcpReq)
    return { prompts: (await offers.prompts()) as never[] }
  })
  server.setRequestHandler('prompts/get', ({ params }, { mcpReq }) =>
    inExchange(mcpReq, (asker, signal, onProgress) =>
      offers.getPrompt(params as Fields, { asker, signal, onProgress }).catch(ownError),
    ),
  )
  server.setRequestHandler(
    'completion/complete',
    async ({ params }, { mcpReq }) => (await offers.complete(params as Fields, mcpReq.signal)) as never,
  )
}

function progressFor({ _meta, notify }: Request): (progress: Progress) => void {
  const progressToken = _meta?.progressToken
  const send = async (params: object) =>
    notify(sendable({ method: 'notifications/progress', params }) as never)
  return (progress) => {
    if (progressToken !== undefined) send({ ...progress, progressToken }).catch(() => {})
  }
}

/** What a server itself has answered is the client's to read. */
function ownError(error: unknown): never {
  const { cause } = error as Error
  throw cause instanceof ProtocolError ? cause : error
}
