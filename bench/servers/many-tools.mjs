// Lists as many tools as its argument says, a thousand a page; each call is answered at once.
import { createInterface } from 'node:readline'

const count = Number(process.argv[2])
const PAGE = 1000

const tool = (index) => ({
  name: `item_${index}`,
  description: `Handles item number ${index} of the catalogue: reads, writes and updates its record in place.`,
  inputSchema: {
    type: 'object',
    properties: {
      id: { type: 'string', description: `The id of record ${index}` },
      mode: { type: 'string', enum: ['fast', 'safe', 'dry'] },
      count: { type: 'number' },
    },
    required: ['id'],
  },
})

const methods = {
  initialize: ({ protocolVersion = '2025-11-25' }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'many-tools', version: '1.0.0' },
  }),
  'tools/list'({ cursor = '0' }) {
    const start = Number(cursor)
    const length = Math.min(PAGE, count - start)
    const tools = Array.from({ length }, (_, index) => tool(start + index))
    return { tools, ...(start + PAGE < count ? { nextCursor: String(start + PAGE) } : {}) }
  },
  'tools/call': ({ arguments: { id } }) => ({
    content: [{ type: 'text', text: `record ${id}: `.padEnd(1000, 'some text ') }],
  }),
}

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { id, method, params = {} } = JSON.parse(line)
    if (id === undefined) return
    const answer = methods[method]
    if (answer) send({ id, result: answer(params) })
    else send({ id, error: { code: -32601, message: `Method not found: ${method}` } })
  })
  .on('close', () => process.exit(0))
