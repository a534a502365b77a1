// Ending while requests are under way: those are finished, within a limit, and no new one is accepted.

import type { ServerResponse } from 'node:http'
import { afterEach, expect, it } from 'vitest'
import { serveMessagesGateway } from '../../packages/cli/src/http/messages/server.ts'
import { createMessagesGateway } from '../../packages/messages/src/gateway.ts'
import { parseModeSetting } from '../../packages/messages/src/plan.ts'
import { createMessagesUpstream } from '../../packages/messages/src/upstream/messages.ts'
import {
  begin,
  closeAll,
  opening,
  requestFor,
  send,
  startFake,
  textReply,
  unhandled,
  wireEvents,
} from './support/faults.ts'

afterEach(async () => {
  await closeAll()
  expect(unhandled).toEqual([])
})

/** A gateway with one stream under way, which the upstream ends when `finish` is called. */
async function streaming(mode: string) {
  let upstreamAnswer: ServerResponse | undefined
  const fake = await startFake((outgoing) => {
    upstreamAnswer = outgoing
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    outgoing.write(wireEvents(opening))
  })
  const upstream = createMessagesUpstream({ url: fake.url, wire: 'append' })
  const served = await serveMessagesGateway({
    gateway: createMessagesGateway({ upstream }),
    setting: parseModeSetting(mode)!,
    port: 0,
  })
  const incoming = await begin(`${served.url}/v1/messages`, {
    body: JSON.stringify(requestFor(mode, { stream: true })),
  })
  const text = new Promise<string>((resolve) => {
    let all = ''
    incoming.on('data', (chunk) => {
      all += chunk
    })
    incoming.once('error', () => resolve(all))
    incoming.once('close', () => resolve(all))
  })
  const finish = () => upstreamAnswer?.end(textReply('hi').slice(wireEvents(opening).length))
  return { served, text, finish }
}

it.each(['pass', 'off'])(
  '%s: a stream is finished, and new connections are refused meanwhile',
  async (mode) => {
    const { served, text, finish } = await streaming(mode)
    expect(served.activeRequests()).toBe(1)
    const drained = served.drain(60_000)
    await expect(send(`${served.url}/health`, { method: 'GET' })).rejects.toThrow('ECONNREFUSED')
    finish()
    expect(await text).toContain('message_stop')
    await drained
    expect(served.activeRequests()).toBe(0)
  },
)

it('a stream that takes longer than the limit is cut off', async () => {
  const { served, text } = await streaming('off')
  await served.drain(10)
  expect(await text).not.toContain('message_stop')
})
