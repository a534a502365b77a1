// What a newcomer stumbled over, each in a test.
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import type { RequestRecord } from '../../src/messages/index.ts'
import {
  createMessagesGateway,
  createMessagesUpstream,
  createScriptUpstream,
  loadScript,
  readScript,
  serveMessagesGateway,
} from '../../src/messages/index.ts'
import { OFFLINE_NOTE } from '../../src/messages/upstream/index.ts'
import { ask, talk } from './script-talk.ts'

const tool = (name: string) => ({
  name,
  description: 'Does it.',
  input_schema: { type: 'object', properties: {} },
})

async function start(script: object, options: object = {}) {
  const done: RequestRecord[] = []
  const gateway = createMessagesGateway({
    upstream: createScriptUpstream({ script: readScript(script) }),
    ...options,
  })
  const served = await serveMessagesGateway({ gateway, port: 0, onDone: (one) => done.push(one) })
  const ask = (body: object, headers: object = {}) =>
    fetch(`${served.url}/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'm', max_tokens: 100, ...body }),
    })
  return { served, done, ask }
}

const called = [
  { role: 'user', content: 'go' },
  { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'mcp__g__make', input: {} }] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'made' }] },
]

test('few tools stay off the shelf, also once one was called', async () => {
  const { served, ask } = await start({ rules: [{ do: [{ say: 'Fine.' }] }] })
  const first = await ask({ tools: [tool('mcp__g__make')], messages: called.slice(0, 1) })
  const second = await ask({ tools: [tool('mcp__g__make')], messages: called })
  expect([first, second].map(({ headers }) => headers.get('x-toolshelf-mode'))).toEqual(['off', 'off'])
  expect(second.headers.get('x-toolshelf-why')).toBe('the tools are few')
  await served.close()
})

test('the context window decides how many tools are many', async () => {
  const { served, ask } = await start({ rules: [{ do: [{ say: 'Fine.' }] }] }, { contextWindow: 1000 })
  const many = Array.from({ length: 20 }, (_, index) => tool(`mcp__g__make_${index}`))
  const answer = await ask({ tools: many, messages: called.slice(0, 1) })
  expect(answer.headers.get('x-toolshelf-mode')).toBe('shelve')
  await served.close()
})

test('reports savings honestly: few tools cost more to search for than to show', async () => {
  const { served, done, ask } = await start({ rules: [{ do: [{ say: 'Fine.' }] }] })
  const used = async (count: number, mode: string) => {
    const tools = Array.from({ length: count }, (_, index) => ({
      ...tool(`mcp__g__make_${index}`),
      description: 'Makes things. '.repeat(20),
    }))
    const answer = await ask({ tools, messages: called.slice(0, 1) }, { 'x-toolshelf-mode': mode })
    return ((await answer.json()) as { usage: { input_tokens: number } }).usage.input_tokens
  }
  for (const count of [2, 60]) {
    const really = (await used(count, 'off')) - (await used(count, 'shelve'))
    const told = done.at(-1)?.outcome?.figures()?.tokensSaved ?? 0
    expect(Math.sign(told)).toBe(count === 2 ? -1 : 1)
    // The script's usage is rounded up to whole tokens, and scaled by what was not sent.
    expect(Math.abs(told - really)).toBeLessThan(15)
  }
  await served.close()
})

test('logs what failed, and why; counts no savings for it', async () => {
  const { served, done, ask } = await start({
    rules: [{ do: [{ fail: { status: 529, type: 'overloaded_error', message: 'too busy' } }] }],
  })
  await ask(
    { tools: [tool('mcp__g__make')], messages: called.slice(0, 1) },
    { 'x-toolshelf-mode': 'shelve' },
  ).then((answer) => answer.text())
  await ask({}, { 'x-toolshelf-mode': 'nonsense' }).then((answer) => answer.text())
  await served.close()
  expect(done.map(({ status, error, outcome }) => [status, error, outcome?.figures()])).toEqual([
    [529, 'too busy', undefined],
    [400, expect.stringContaining('x-toolshelf-mode is "nonsense"'), undefined],
  ])
})

test('reports a stream that broke off', async () => {
  const { served, done, ask } = await start({
    rules: [{ do: [{ cut: true }, { say: 'Half of a long sentence, and then' }] }],
  })
  await ask({ stream: true, messages: called.slice(0, 1) }).then((answer) => answer.text())
  await served.close()
  expect(done[0]?.error).toBeTypeOf('string')
})

test('a base with its version is the same as one without', async () => {
  const { served } = await start({ rules: [{ do: [{ say: 'Fine.' }] }] })
  const upstream = createMessagesUpstream({ url: new URL(`${served.url}/v1/`) })
  const call = { headers: {}, signal: new AbortController().signal }
  expect((await upstream.models(call)).status).toBe(200)
  await served.close()
})

test('a search for what is loaded already is seen again on the next turn, byte for byte', async () => {
  const rules = [
    {
      when: 'again',
      do: [{ search: 'make' }, { search: 'make' }, { call: 'mcp__g__make' }, { say: 'Done.' }],
    },
  ]
  const bodies: string[] = []
  const script = createScriptUpstream({
    script: readScript({ rules }),
    wire: 'append',
    onRequest: ({ request }) => bodies.push(JSON.stringify(request.messages)),
  })
  const served = await serveMessagesGateway({ gateway: createMessagesGateway({ upstream: script }), port: 0 })
  const ask = async (messages: object[]) => {
    const answer = await fetch(`${served.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-toolshelf-mode': 'shelve' },
      body: JSON.stringify({ model: 'm', max_tokens: 100, tools: [tool('mcp__g__make')], messages }),
    })
    return (await answer.json()) as { content: { type: string; id?: string }[] }
  }
  const question = { role: 'user', content: 'again' }
  const { content } = await ask([question])
  const before = bodies.at(-1) ?? ''
  const result = { type: 'tool_result', tool_use_id: content.at(-1)?.id, content: 'made' }
  await ask([question, { role: 'assistant', content }, { role: 'user', content: [result] }])
  expect(bodies.length).toBe(4)
  expect(bodies.at(-1)?.startsWith(before.slice(0, -1))).toBe(true)
  await served.close()
})

test.each([
  'call get-sum with {"a": 1, "b": 2}',
  'call get-sum {"a": 1, "b": 2}',
  'Please call get-sum with\n{\n  "a": 1,\n  "b": 2\n}',
])('the demo script takes arguments: %j', async (words) => {
  const upstream = createScriptUpstream({ script: await loadScript('examples/script.json') })
  const tools = [tool('mcp__everything__get-sum')]
  expect(await talk(upstream, ask(words, tools))).toEqual([
    ['mcp__everything__get-sum {"a":1,"b":2}'],
    [`mcp__everything__get-sum ran\n${OFFLINE_NOTE}`],
  ])
})

test('the demo script says how to pass arguments, in words that it takes', async () => {
  const upstream = createScriptUpstream({ script: await loadScript('examples/script.json') })
  for (const words of ['hello', 'what?']) {
    const [said] = (await talk(upstream, ask(words))).flat()
    const example = /call get-sum with \{.*\}/.exec(said ?? '')?.[0] ?? ''
    expect(await talk(upstream, ask(example, [tool('get-sum')]))).toContainEqual(['get-sum {"a":1,"b":2}'])
    for (const page of ['clients/README.md', 'script.md', 'guides/library.md'])
      expect(await readFile(`docs/${page}`, 'utf8'), page).toContain(example)
  }
})
