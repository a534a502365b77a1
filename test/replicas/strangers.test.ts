// What a user can do with the session id of another: nothing, at any replica.
import { expect, it } from 'vitest'
import { createMemoryStore, type StateStore } from '../../src/store/index.ts'
import type { Authenticator } from '../../src/users/index.ts'
import { initialize } from '../mcp/support/gateway-http.ts'
import { neighbour } from '../mcp/support/small-servers.ts'
import { profileOf } from '../users/support.ts'
import { openReplicas } from './support.ts'

/** Tokens are names of users here. */
const users: Authenticator = {
  authenticate: async (token) => users.recall(token ?? '') ?? { status: 401, message: 'who are you?' },
  recall: (token) => (token === '' ? undefined : { id: token, uid: token, profile: profileOf() }),
  refresh: async (user) => user,
  onChange: () => () => {},
  close: async () => {},
}

it('a replica neither joins nor prolongs a session for a user whose it is not', async () => {
  const store = createMemoryStore()
  const uses: string[] = []
  const watched: StateStore = {
    ...store,
    touch(key, ttlMs) {
      uses.push(`touch ${key}`)
      return store.touch(key, ttlMs)
    },
    subscribe(channel, listener) {
      uses.push(`subscribe ${channel}`)
      return store.subscribe(channel, listener)
    },
  }
  const { gateways } = await openReplicas(() => [neighbour()], {
    store,
    storeOf: (index) => (index === 0 ? store : watched),
    http: { users },
  })
  const send = (index: number, user: string, body: object, session?: string) =>
    fetch(gateways[index]?.url ?? '', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${user}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(session === undefined ? {} : { 'mcp-session-id': session }),
      },
      body: JSON.stringify(body),
    })
  const opened = await send(0, 'ada', initialize)
  await opened.text()
  const session = opened.headers.get('mcp-session-id') ?? ''
  const list = { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} }
  expect((await send(1, 'bob', list, session)).status).toBe(404)
  expect(uses.filter((use) => use.includes(session))).toEqual([])
  const own = await send(1, 'ada', list, session)
  expect([own.status, await own.text()]).toEqual([200, expect.stringContaining('ToolSearch')])
  expect(uses).toContain(`subscribe session/${session}`)
})
