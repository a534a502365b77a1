// Every API that clients speak in front of every upstream, in every mode: the official SDKs as clients, strict servers as
// upstreams. A tool that waits on the shelf is found, called, and still loaded after a restart.
import { describe, expect, test } from 'vitest'
import type { Upstream } from '../../src/messages/types.ts'
import { createChatUpstream } from '../../src/messages/upstream/chat.ts'
import { createMessagesUpstream } from '../../src/messages/upstream/messages.ts'
import { createResponsesUpstream } from '../../src/messages/upstream/responses.ts'
import { isThorough } from '../support/runs.ts'
import { always, play } from './script-talk.ts'
import { expose, start, upstreamOf } from './support/gateways.ts'
import { clients, type PlainTool } from './support/inbound-clients.ts'
import { startChat, startResponses } from './support/openai-models.ts'

const TARGET = 'paint_zebra'
const other = (name: string): PlainTool => ({ name, description: `Does ${name.replaceAll('_', ' ')}.` })
const tools: readonly PlainTool[] = [
  ...['Read', 'Write'].map(other),
  ...['send_mail', 'list_mail', 'open_file', 'close_file', 'add_event', 'drop_event'].map(other),
  { name: TARGET, description: 'Paints a zebra with stripes.' },
]

/** Each upstream with a model that wants to call the target. */
const script = always({ call: TARGET, input: { stripes: 3 } }, { say: `Done: ${TARGET} ran` })
const upstreams: { readonly [name: string]: () => Promise<{ upstream: Upstream; model: string }> } = {
  async messages() {
    const { url } = await expose(upstreamOf('append', script))
    return {
      upstream: createMessagesUpstream({ url: new URL(url), wire: 'append' }),
      model: 'claude-opus-5-5',
    }
  },
  async chat() {
    const { url } = await startChat(TARGET)
    return { upstream: createChatUpstream({ url }), model: 'small-1' }
  },
  async responses() {
    const { url } = await startResponses(TARGET)
    return { upstream: createResponsesUpstream({ url }), model: 'gpt-5.4' }
  },
  async script() {
    return { upstream: play(script), model: 'claude-opus-5-5' }
  },
}

const APIS = ['messages', 'chat', 'responses'] as const
const MODES = ['shelve', 'off', 'auto'] as const
/** Whether replies are streamed: both ways in each mode with TEST_EFFORT=2. */
const STREAMED = { shelve: [true, false], off: [true], auto: [false] }

describe.each(APIS)('a client of %s', (api) => {
  describe.each(Object.keys(upstreams))('in front of an upstream of %s', (name) => {
    test.each(MODES)('calls its tool in mode %s, streamed or not', async (mode) => {
      const { upstream, model } = await upstreams[name]!()
      const gateway = await start(upstream, { mode })
      for (const isStream of isThorough ? [true, false] : STREAMED[mode]) {
        const { calls, text } = await clients[api]!({ url: gateway.url, model, isStream, tools }, [
          'paint it',
        ])
        expect(calls).toEqual([TARGET])
        expect(text).toContain(`${TARGET} ran`)
      }
    })

    test('finds its tool once: another process continues from the history alone', async () => {
      const { upstream, model } = await upstreams[name]!()
      const [first, second] = [
        await start(upstream, { mode: 'shelve' }),
        await start(upstream, { mode: 'shelve' }),
      ]
      const onReply = async () => second.url
      const options = { url: first.url, model, isStream: true, tools, onReply }
      const { calls, ids } = await clients[api]!(options, ['paint it', 'paint it again'])
      expect(calls).toEqual([TARGET, TARGET])
      expect(ids[0]).toContain('__shelf_')
      expect(ids[1]).not.toContain('__shelf_')
    })
  })
})
