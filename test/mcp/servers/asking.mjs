// Asks its client during a call: the tool `ask` sends { method, params } and gives the client's whole answer as text;
// `ask_many` sends a hundred at once.
import { run, text, tool } from './wire.mjs'

export function server(_, { ask }) {
  const calls = {
    ask: async ({ method, params }) => text(JSON.stringify(await ask(method, params))),
    ask_many: async ({ method, params }) =>
      text((await Promise.all(Array.from({ length: 100 }, () => ask(method, params)))).length),
  }

  return {
    'tools/list': () => ({ tools: Object.keys(calls).map((name) => tool(name)) }),
    'tools/call': ({ name, arguments: input = {} }) => calls[name](input),
  }
}

run(import.meta, server)
