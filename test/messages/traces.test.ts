// A later request of a shelved or emulated conversation that has no tools (titles, summaries, counts): nothing that
// only this gateway or tool search wrote reaches an upstream from before tool search.
import { expect, test } from 'vitest'
import { type Fields, fieldsOf } from '../../src/lib/index.ts'
import type { MessagesRequest } from '../../src/messages/index.ts'
import type { ObservedRequest } from '../../src/messages/upstream/index.ts'
import { createMessagesUpstream } from '../../src/messages/upstream/index.ts'
import { assistant, deferred, result, text, tool, user } from '../oracle/requests.ts'
import { always, play } from './script-talk.ts'
import { ask, COUNT, count, expose, hosted, post, type Reply, reply, start } from './support/gateways.ts'

/** A gateway in front of an old API over HTTP, to which requests can be passed on. */
async function inFrontOfOld(script: object, mode: string) {
  const seen: ObservedRequest[] = []
  const old = await expose(play({ ...script, api: 'old' }, { onRequest: (one) => seen.push(one) }))
  const gateway = await start(createMessagesUpstream({ url: new URL(old.url) }), { mode })
  return { ...gateway, seen }
}

const script = always({ call: '/send$|^Read$/', search: 'mail send' }, { say: 'Done.' })
const shelved = ask([tool('Bash'), tool('mcp__mail__send'), tool('mcp__mail__list')])
const emulated = ask([tool('Read'), hosted('bm25'), deferred('mail_send')])

const later = (first: Reply, tools: readonly Fields[] | undefined): Fields => {
  const calls = first.content.filter(({ type }) => type === 'tool_use')
  const results = calls.map(({ id }) => result(String(id), 'ran'))
  const turns = [user(text('go')), assistant(...first.content), user(...results, text('Title?'))]
  const { tools: _, ...rest } = ask([], ...turns)
  return tools === undefined ? rest : { ...rest, tools }
}

test.each([
  ['shelve', 'auto:0', shelved, undefined],
  ['shelve, tools then empty', 'auto:0', shelved, []],
  ['shelve, tools then few', 'auto:90', shelved, [tool('Glob')]],
  ['emulate', 'auto', emulated, undefined],
] as const)(
  'wire 40 a request without tools after %s is one that the old API takes',
  async (_, mode, asked, tools) => {
    const gateway = await inFrontOfOld(script, mode)
    const first = await reply(gateway, asked, { 'x-toolshelf-mode': mode === 'auto' ? 'auto' : 'auto:0' })
    expect(first.stop_reason).toBe('tool_use')
    const next = later(first, tools)
    const second = await reply(gateway, next)
    expect(second.content.at(-1)?.type).toBe('text')
    const sent = gateway.seen.at(-1)?.request as MessagesRequest
    expect(JSON.stringify(sent)).not.toMatch(/caller|__shelf_|srvtoolu_|tool_search/)
    expect(await count(gateway, next)).toBeGreaterThan(0)
  },
)

test('a conversation without such traces is passed on byte for byte', async () => {
  const gateway = await inFrontOfOld(always({ say: 'Done.' }), 'auto')
  const { headers, status } = await post(gateway, ask([], user(text('Hi'))))
  expect([status, headers.get('x-toolshelf-mode')]).toEqual([200, 'pass'])
  const counted = await post(gateway, fieldsOf({ model: 'm', messages: [user(text('Hi'))] }), { path: COUNT })
  expect(counted.headers.get('x-toolshelf-mode')).toBe('pass')
})
