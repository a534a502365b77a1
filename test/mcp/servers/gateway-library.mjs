// Offers all there is besides tools: resources, templates, prompts, completions, logging, subscriptions. Its tools make
// it speak: `tell` sends a notification, `tell_later` after its call, `ask` asks the client and gives the whole answer, `ask_later` asks once there
// is a file and tells the answer on stderr, `ask_at` does so before the call ends, `ask_then_work` asks and then tells its progress, `ask_and_go` does not wait
// for the answer and tells how many times it was called, `wait` never ends, `heard` gives what was heard.
import { existsSync } from 'node:fs'
import { initialized, noAnswer, run, sleep, text, tool } from './wire.mjs'

export function server(_, { ask, notify, log }) {
  const heard = []
  let made = 0
  const hear = (method) => (params) => {
    heard.push({ method, params })
    return {}
  }

  const books = [
    { uri: 'book://one', name: 'one', title: 'The first book', mimeType: 'text/plain' },
    { uri: 'book://two', name: 'two', annotations: { priority: 0.5 } },
  ]

  const contentsOf = (uri) => ({ contents: [{ uri, mimeType: 'text/plain', text: `read ${uri}` }] })

  function read({ uri }) {
    if (uri.startsWith('book://')) return contentsOf(uri)
    throw Object.assign(new Error(`there is no ${uri}`), { code: -32002 })
  }

  const prompts = [
    { name: 'review', title: 'Review a book', arguments: [{ name: 'book', required: true }] },
    { name: 'two words', description: 'A name that must be changed' },
  ]

  function promptOf({ name, arguments: input }) {
    const told = { role: 'user', content: { type: 'text', text: `${name} ${JSON.stringify(input ?? {})}` } }
    const shown = {
      role: 'user',
      content: { type: 'resource', resource: contentsOf('book://one').contents[0] },
    }
    return { description: 'made for you', messages: [told, shown] }
  }

  async function askOnceThereIs(file, method, params) {
    while (!existsSync(file)) await sleep(20)
    log(JSON.stringify(await ask(method, params)))
  }

  async function work({ method, params }, token) {
    const answer = await ask(method, params)
    for (const step of [1, 2]) {
      if (token !== undefined)
        notify('notifications/progress', { progressToken: token, progress: step, total: 2 })
      await sleep(20)
    }
    return text(JSON.stringify(answer))
  }

  const calls = {
    tell({ method, params }) {
      notify(method, params)
      return text('told')
    },
    tell_later({ method, params }) {
      setTimeout(() => notify(method, params), 50)
      return text('later')
    },
    ask: async ({ method, params }) => text(JSON.stringify(await ask(method, params))),
    ask_later({ method, params, file }) {
      askOnceThereIs(file, method, params)
      return text('later')
    },
    async ask_at({ method, params, file }) {
      await askOnceThereIs(file, method, params)
      return text('asked')
    },
    async ask_and_go({ method, params }) {
      made += 1
      ask(method, params)
      await sleep(100)
      return text(`call ${made}`)
    },
    ask_then_work: (input, token) => work(input, token),
    wait: () => noAnswer,
    heard: () => text(JSON.stringify(heard)),
    link: () => ({
      content: [
        { type: 'resource_link', ...books[0] },
        { type: 'resource', resource: contentsOf('book://two').contents[0] },
      ],
    }),
  }

  return {
    initialize: (params) =>
      initialized(params, {
        resources: { subscribe: true, listChanged: true },
        prompts: { listChanged: true },
        completions: {},
        logging: {},
      }),
    'tools/list': () => ({ tools: Object.keys(calls).map((name) => tool(name)) }),
    'tools/call': ({ name, arguments: input = {}, _meta }) => calls[name](input, _meta?.progressToken),
    'resources/list': ({ cursor }) =>
      cursor ? { resources: books.slice(1) } : { resources: books.slice(0, 1), nextCursor: 'more' },
    'resources/templates/list': () => ({
      resourceTemplates: [{ uriTemplate: 'book://{title}', name: 'any book' }],
    }),
    'resources/read': read,
    'resources/subscribe': hear('subscribe'),
    'resources/unsubscribe': hear('unsubscribe'),
    'prompts/list': () => ({ prompts }),
    'prompts/get': promptOf,
    'completion/complete': ({ ref, argument }) => ({
      completion: { values: [`${ref.name ?? ref.uri} ${argument.value}`], hasMore: false },
    }),
    'logging/setLevel': hear('setLevel'),
    'notifications/cancelled': hear('cancelled'),
    'notifications/roots/list_changed': hear('roots changed'),
  }
}

run(import.meta, server)
