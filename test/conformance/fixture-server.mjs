// The server that the conformance suite wants to meet behind the gateway: its fixtures under its own names, over stdio, in
// both protocol eras. What a tool asks of the client is returned as `inputRequired`; the SDK spells it for the older era.
import {
  createRequestStateCodec,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
} from '@modelcontextprotocol/server'
import { prompts } from './fixture-prompts.mjs'
import { resources, templates } from './fixture-resources.mjs'
import { tools } from './fixture-tools.mjs'

const states = createRequestStateCodec({ key: Buffer.alloc(32, 'conformance') })

export function createServer() {
  const server = new Server(
    { name: 'conformance-fixture', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        completions: {},
        logging: {},
      },
      requestState: { verify: states.verify },
    },
  )
  serveTools(server)
  servePrompts(server)
  serveResources(server)
  server.setRequestHandler('completion/complete', () => ({
    completion: { values: ['paris', 'park', 'party'], total: 3, hasMore: false },
  }))
  return server
}

function serveTools(server) {
  server.setRequestHandler('tools/list', () => ({ tools: tools.map(({ run: _run, ...listed }) => listed) }))
  server.setRequestHandler('tools/call', (request, context) => {
    const tool = tools.find(({ name }) => name === request.params.name)
    if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `no tool ${request.params.name}`)
    return tool.run({ input: request.params.arguments ?? {}, context, server, states })
  })
}

function servePrompts(server) {
  server.setRequestHandler('prompts/list', () => ({
    prompts: prompts.map(({ get: _get, ...listed }) => listed),
  }))
  server.setRequestHandler('prompts/get', (request, context) => {
    const prompt = prompts.find(({ name }) => name === request.params.name)
    if (!prompt) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `no prompt ${request.params.name}`)
    return prompt.get(request.params.arguments ?? {}, context)
  })
}

function serveResources(server) {
  server.setRequestHandler('resources/list', () => ({
    resources: resources.map(({ content: _content, ...listed }) => listed),
  }))
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: templates.map(({ match: _match, content: _content, ...listed }) => listed),
  }))
  server.setRequestHandler('resources/read', (request) => ({ contents: [read(request.params.uri)] }))
  server.setRequestHandler('resources/subscribe', () => ({}))
  server.setRequestHandler('resources/unsubscribe', () => ({}))
}

function read(uri) {
  const resource = resources.find((one) => one.uri === uri)
  if (resource) return { uri, mimeType: resource.mimeType, ...resource.content }
  for (const template of templates) {
    const match = template.match.exec(uri)
    if (match) return { uri, mimeType: template.mimeType, ...template.content(match) }
  }
  throw new ResourceNotFoundError(uri)
}
