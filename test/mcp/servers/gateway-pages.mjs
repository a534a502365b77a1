// An MCP App: `show` has a page, `refresh` is for pages only, `forget` for the model only; `told` gives what the client
// has declared. Declares extensions, one of which belongs to a single connection.
import { initialized, run, text, tool } from './wire.mjs'

export function server(name, _, refresh = 'refresh') {
  const PAGE = 'ui://app/main.html'
  const MIME = 'text/html;profile=mcp-app'
  const ui = (more) => ({ _meta: { ui: { resourceUri: PAGE, ...more } } })
  let told = {}

  return {
    initialize(params) {
      told = params.capabilities
      return initialized(params, {
        resources: {},
        extensions: {
          'io.modelcontextprotocol/ui': { mimeTypes: [MIME] },
          'io.modelcontextprotocol/tasks': {},
          'com.example/notes': { version: 2 },
        },
      })
    },
    'tools/list': () => ({
      tools: [
        tool('show', ui()),
        tool(refresh, ui({ visibility: ['app'] })),
        tool('forget', ui({ visibility: ['model'] })),
        tool('told'),
      ],
    }),
    'tools/call': ({ name: called }) => text(called === 'told' ? JSON.stringify(told) : `${name} ${called}`),
    'resources/list': () => ({ resources: [] }),
    'resources/read': ({ uri }) => ({ contents: [{ uri, mimeType: MIME, text: '<p>page</p>' }] }),
  }
}

run(import.meta, server)
