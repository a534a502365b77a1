// Shows what a call carries, and fails as it is asked to: `meta` gives the `_meta` it got and has one of its own, `fail`
// answers with the JSON-RPC error in its input, `pay` is refused until `paid` was called, which says that it is done.
import { initialized, run, text, tool } from './wire.mjs'

export function server(_, { notify }) {
  const refuse = (error) => {
    throw Object.assign(new Error(error.message), error)
  }

  let isPaid = false
  const elicitation = {
    mode: 'url',
    elicitationId: 'pay-1',
    url: 'https://example.org/pay',
    message: 'Please pay.',
  }

  const calls = {
    meta: (_, meta) => ({
      ...text(JSON.stringify(meta ?? {})),
      _meta: { 'example.org/cost': 3, 'io.modelcontextprotocol/serverInfo': { name: 'echo', version: '1' } },
    }),
    fail: ({ error }) => refuse(error),
    pay: () =>
      isPaid
        ? text('paid')
        : refuse({ code: -32042, message: 'payment needed', data: { elicitations: [elicitation] } }),
    paid() {
      isPaid = true
      notify('notifications/elicitation/complete', { elicitationId: elicitation.elicitationId })
      return text('thank you')
    },
  }

  return {
    initialize: (params) => initialized(params, { prompts: {}, resources: {} }),
    'tools/list': () => ({ tools: Object.keys(calls).map((name) => tool(name)) }),
    'tools/call': ({ name, arguments: input = {}, _meta }) => calls[name](input, _meta),
    'prompts/list': () => ({ prompts: [{ name: 'meta' }] }),
    'prompts/get': ({ _meta }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: JSON.stringify(_meta ?? {}) } }],
      _meta: { 'example.org/cost': 3 },
    }),
    'resources/list': () => ({ resources: [{ uri: 'echo://meta', name: 'meta' }] }),
    'resources/read': ({ uri, _meta }) => ({ contents: [{ uri, text: JSON.stringify(_meta ?? {}) }] }),
  }
}

run(import.meta, server)
