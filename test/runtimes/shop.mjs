// What a host does with the library: it offers the tools of two servers, and the model searches, loads and calls one.
import { createShelf } from '@toolshelf/core'

const tool = (server, name, description) => {
  const input_schema = { type: 'object', properties: { id: { type: 'string' } } }
  return { name, server, description, input_schema }
}
const things = 'invoice parcel address customer coupon review basket supplier warehouse'.split(' ')
const tools = [
  tool('shop', 'refund_order', 'Refund an order'),
  tool('shop', 'list_orders', 'List orders'),
  ...things.flatMap((one) => [
    tool('office', `get_${one}`, `Get one ${one}`),
    tool('office', `delete_${one}`, `Delete one ${one}`),
  ]),
]
const request = { model: 'claude-opus-4-6', max_tokens: 100 }

/** Opens a shelf; each visit is a conversation of its own. */
export function open(options) {
  const shelf = createShelf({ ...options, tools })
  return () => converse(shelf)
}

/** Returns what the model saw, as plain JSON. */
async function converse(shelf) {
  const first = await shelf.prepare({ ...request, messages: [{ role: 'user', content: 'Hello' }] })
  let { history, loaded } = first
  const turn = async (name, input) => {
    const call = { type: 'tool_use', id: `toolu_${history.length}`, name, input }
    const messages = [...history, { role: 'assistant', content: [call] }]
    const execute = ({ server, original }) => `${server} did ${original}`
    const result = await shelf.run(call, { messages, execute })
    const next = [...messages, { role: 'user', content: [result] }]
    ;({ history, loaded } = await shelf.prepare({ ...request, messages: next }))
    return result.content
  }
  const search = async (query) =>
    (await turn('ToolSearch', { query })).flatMap(({ tool_name }) => tool_name ?? [])
  return {
    lacks: first.decision.lacks,
    offered: first.request.tools.map(({ name }) => name),
    selected: await search('select:mcp__office__get_parcel'),
    words: await search('refund order'),
    called: await turn('mcp__shop__refund_order', { id: '7' }),
    loaded,
    meaning: await search('reimburse the customer'),
  }
}
