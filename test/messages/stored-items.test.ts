// References to items of earlier replies, as the AI SDK sends them by default: those of this gateway and this key are
// resolved, all others refused with what to do.
import { expect, test } from 'vitest'
import { type Fields, fieldsOf, listOf } from '../../src/lib/json.ts'
import type { MessagesRequest } from '../../src/messages/types.ts'
import { always, play } from './script-talk.ts'
import { start } from './support/gateways.ts'

const tool = {
  ...{ type: 'function', name: 'add', description: 'Adds.', strict: false },
  parameters: { type: 'object', properties: { a: { type: 'number' } } },
}
const user = { type: 'message', role: 'user', content: 'Add one.' }
const script = always(
  { think: 'One it is.' },
  { say: 'I add.' },
  { call: 'add', input: { a: 1 } },
  { say: 'Done.' },
)

async function ask(url: string, input: readonly Fields[], fields: Fields = {}, key = 'one') {
  const response = await fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'any', input, tools: [tool], reasoning: { effort: 'low' }, ...fields }),
  })
  const text = await response.text()
  const last = text.startsWith('{') ? text : (text.trim().split('\ndata: ').at(-1) ?? '')
  const body = fieldsOf(JSON.parse(last))
  return { status: response.status, body: fieldsOf(body.response ?? body) }
}

/** What the client sends next: a reference to each item, and the outputs of its calls. */
function next(output: readonly Fields[]): Fields[] {
  const references = output.map(({ id }) => ({ type: 'item_reference', id }))
  const calls = output.filter(({ type }) => type === 'function_call')
  const results = calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: '2' }))
  return [user, ...references, ...results]
}

function gateway(seen: MessagesRequest[] = []) {
  return start(play(script, { onRequest: ({ request }) => seen.push(request) }))
}

test.each([true, false])('references stand for the items of an earlier reply, stream: %s', async (stream) => {
  const seen: MessagesRequest[] = []
  const { url } = await gateway(seen)
  const first = await ask(url, [user], { stream })
  const output = listOf(first.body.output).map(fieldsOf)
  expect(output.map(({ type }) => type)).toEqual(['reasoning', 'message', 'function_call'])
  const second = await ask(url, next(output), { stream })
  expect(second.status).toBe(200)
  const inFull = [user, ...output, ...next(output).slice(-1)]
  await ask(url, inFull, { stream, store: false })
  expect(seen[1]?.messages).toHaveLength(3)
  expect(seen[1]?.messages).toEqual(seen[2]?.messages)
})

test('items of another key, of before a restart, and of replies that were not stored are refused', async () => {
  const { url } = await gateway()
  const { body } = await ask(url, [user])
  const input = next(listOf(body.output).map(fieldsOf))
  const other = await gateway()
  const unstored = await ask(url, [user], { store: false })
  const refused = [
    await ask(url, input, {}, 'two'),
    await ask(other.url, input),
    await ask(url, next(listOf(unstored.body.output).map(fieldsOf))),
    await ask(url, [user, { id: 'msg_made_up' }]),
  ]
  for (const { status, body: answer } of refused) {
    expect(status).toBe(400)
    const { message } = fieldsOf(answer.error)
    expect(message).toMatch(/^input\[1\]: the item_reference "\w+": .*"store": false/)
  }
  expect((await ask(url, input)).status).toBe(200)
})

test('no two replies have items of one id, whatever the upstream calls them', async () => {
  const { url } = await gateway()
  const ids = async () =>
    listOf((await ask(url, [user])).body.output).map((item) => fieldsOf(item).id as string)
  const all = [...(await ids()), ...(await ids())]
  expect(new Set(all).size).toBe(6)
})
