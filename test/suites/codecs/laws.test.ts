// The laws of the codecs: what one direction of an API writes, the other reads back; whoever speaks which API, the model gets
// the same request and the client the same reply; and it does not matter in which pieces a stream arrives.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { endOnFailure, runs, seedOr } from '../../../packages/testkit/src/runs.ts'
import type { Loose } from '../../../packages/testkit/src/talk.ts'
import { validateRequest } from '../../doors.ts'
import { streamReaders } from './replies.ts'
import { APIS, ask, openGateway, openModel, sample, upstreamFor } from './servers.ts'
import { anyContract, anyReply, gist, heard, named, spelled } from './talks.ts'

const TRIES = runs(80)
const SEED = seedOr(20261119)
const TIME = 60_000 + TRIES * 400
const params = { numRuns: TRIES, seed: SEED, endOnFailure }

describe.each(APIS)('a request written for %s', (api) => {
  it('is read back as it was, and so is the reply', { timeout: TIME }, async () => {
    const model = await openModel()
    const upstream = upstreamFor(api, new URL('/v1', model.url))
    await fc.assert(
      fc.asyncProperty(anyContract, anyReply, fc.boolean(), async (contract, blocks, stream) => {
        model.reply = named(blocks)
        const reply = await sample(upstream, { ...contract, stream })
        expect(gist(model.last())).toEqual(gist(contract))
        expect(validateRequest(model.last())).toBeUndefined()
        expect(heard.messages(reply)).toEqual(
          heard.messages({ content: blocks, stop_reason: stopOf(blocks) }),
        )
        const { input_tokens, cache_read_input_tokens, output_tokens } = reply.usage
        expect([input_tokens, cache_read_input_tokens, output_tokens]).toEqual([9, 4, 5])
      }),
      params,
    )
  })
})

const stopOf = (blocks: readonly Loose[]) =>
  blocks.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn'

describe.each(APIS)('a client of %s', (client) => {
  it.each(APIS)(
    'in front of a model of %s says and hears what any other does',
    { timeout: TIME },
    async (api) => {
      const model = await openModel()
      const url = await openGateway(upstreamFor(api, new URL('/v1', model.url)))
      const few = { ...params, numRuns: Math.ceil(TRIES / 2) }
      await fc.assert(
        fc.asyncProperty(anyContract, anyReply, fc.boolean(), async (contract, blocks, stream) => {
          model.reply = { blocks }
          const got = await ask(url, client, { ...spelled[client](contract), stream })
          expect(got.status, got.text).toBe(200)
          expect(gist(model.last())).toEqual(gist(contract))
          const document = stream ? streamReaders[client]!(got.text) : got.body
          expect(heard[client](document)).toEqual(
            heard.messages({ content: blocks, stop_reason: stopOf(blocks) }),
          )
        }),
        few,
      )
    },
  )

  it('reads in a stream what the document says', { timeout: TIME }, async () => {
    const model = await openModel()
    await fc.assert(
      fc.asyncProperty(anyReply, async (blocks) => {
        model.reply = { blocks }
        const body = spelled[client]({
          model: 'm',
          max_tokens: 9,
          messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }],
        })
        const more = client === 'chat' ? { stream_options: { include_usage: true } } : {}
        const [streamed, whole] = [
          await ask(model.url, client, { ...body, ...more, stream: true }),
          await ask(model.url, client, body),
        ]
        expect(untimed(streamReaders[client]!(streamed.text))).toEqual(untimed(whole.body))
      }),
      params,
    )
  })
})

it.each(['native', 'append', 'bridge'])(
  'the model sees the same of every client, also with its tools on the shelf: wire %s',
  { timeout: TIME },
  async (wire) => {
    const model = await openModel()
    const gateway = await openGateway(upstreamFor('messages', model.url, { wire }), 'shelve')
    await fc.assert(
      fc.asyncProperty(anyContract, async (contract) => {
        const seen: Loose[] = []
        for (const client of APIS) {
          // A new conversation each time: nothing is remembered of the one before.
          const got = await ask(gateway, client, spelled[client](contract), {
            'x-api-key': client,
            authorization: `Bearer ${client}`,
          })
          expect(got.status, got.text).toBe(200)
          seen.push(gist(model.last()))
        }
        expect(seen[1]).toEqual(seen[0])
        expect(seen[2]).toEqual(seen[0])
      }),
      params,
    )
  },
)

/** Without times. */
const untimed = (document: Loose) =>
  JSON.parse(JSON.stringify(document), (key, value) =>
    /^(created|created_at|completed_at)$/.test(key) ? 0 : value,
  )
