// An issue tracker over the official SDK, with 50 generated issues: listed at once, or by pages with a cursor.
import { Server } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'

const LABELS = ['bug', 'feature', 'docs', 'question', 'performance']
const issues = Array.from({ length: 50 }, (_, index) => ({
  number: index + 1,
  title: `Issue ${index + 1}: the exporter ${['drops', 'repeats', 'reorders'][index % 3]} rows`,
  state: index % 4 === 0 ? 'closed' : 'open',
  labels: LABELS.filter((_label, label) => (index * 7 + label * 3) % 5 < 2),
  author: `user${index % 9}`,
  body: `Steps: export ${index + 10} rows with the default settings and compare. Expected the same rows in the same order; got others. It happens in version 4.${index % 7} on every second run, with and without a cache, and the log says nothing about it.`,
}))
const PAGE = 5
const text = (value) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] })
const annotations = { readOnlyHint: true }
const tools = [
  {
    name: 'list_issues',
    description: 'Lists all issues of the repository.',
    inputSchema: { type: 'object', properties: {} },
    annotations,
  },
  {
    name: 'search_issues',
    description: 'Searches issues, five a page. Go on with the cursor of the last page.',
    inputSchema: {
      type: 'object',
      properties: { query: { type: 'string' }, cursor: { type: 'string' } },
      required: ['query'],
    },
    annotations,
  },
]

function search({ query, cursor = '0' }) {
  const found = issues.filter(({ title }) => title.includes(query))
  const start = Number(cursor)
  const next = start + PAGE < found.length ? { cursor: String(start + PAGE) } : {}
  return { items: found.slice(start, start + PAGE), ...next }
}

const server = new Server({ name: 'issues', version: '1.0.0' }, { capabilities: { tools: {} } })
server.setRequestHandler('tools/list', () => ({ tools }))
server.setRequestHandler('tools/call', ({ params: { name, arguments: input } }) =>
  text(name === 'list_issues' ? issues : search(input)),
)
await server.connect(new StdioServerTransport())
