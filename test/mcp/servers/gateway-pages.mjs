// An MCP App: `show` has a page, `refresh` is for pages only, `forget` for the model only; `told` gives what the client
// has declared. Declares extensions, one of which belongs to a single connection.
import { initialized, serve, text, tool } from './wire.mjs'

const PAGE = 'ui://app/main.html'
const MIME = 'text/html;profile=mcp-app'
const REFRESH = process.argv[3] ?? 'refresh'
const ui = (more) => ({ _meta: { ui: { resourceUri: PAGE, ...more } } })
let told = {}

serve({
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
      tool(REFRESH, ui({ visibility: ['app'] })),
      tool('forget', ui({ visibility: ['model'] })),
      tool('told'),
    ],
  }),
  'tools/call': ({ name }) => text(name === 'told' ? JSON.stringify(told) : `${process.argv[2]} ${name}`),
  'resources/list': () => ({ resources: [] }),
  'resources/read': ({ uri }) => ({ contents: [{ uri, mimeType: MIME, text: '<p>page</p>' }] }),
})
