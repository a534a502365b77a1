// A streaming client hears of the gateway while the upstream thinks; refusals that come quickly keep their status.
import { afterEach, expect, it } from 'vitest'
import {
  begin,
  closeAll,
  errorBody,
  requestFor,
  send,
  startFake,
  startGateway,
  stream,
  textReply,
  unhandled,
} from './support/faults.ts'
import { eventsIn, lines } from './support/gateways.ts'

afterEach(async () => {
  await closeAll()
  expect(unhandled).toEqual([])
})

/** An upstream whose head waits until `go` is called with what it answers. */
async function waiting() {
  let go: (answer: { status: number; body: string }) => void = () => {}
  const decided = new Promise<{ status: number; body: string }>((resolve) => {
    go = resolve
  })
  const fake = await startFake(async (outgoing) => {
    const { status, body } = await decided
    if (status === 200) stream(outgoing, body)
    else outgoing.writeHead(status, { 'content-type': 'application/json' }).end(body)
  })
  return { fake, go }
}

const asking = (mode: string, isStream = true) => ({
  headers: { 'x-toolshelf-mode': mode },
  body: JSON.stringify(requestFor(mode, { stream: isStream })),
})

it.each(['off', 'shelve', 'emulate'])(
  '%s: the head and a ping come before the head of the upstream',
  async (mode) => {
    const { fake, go } = await waiting()
    const { url } = await startGateway(fake.url, { headWaitMs: 20 })
    const incoming = await begin(`${url}/v1/messages`, asking(mode))
    expect([incoming.statusCode, incoming.headers['x-toolshelf-mode']]).toEqual([200, mode])
    expect(incoming.headers['content-type']).toContain('text/event-stream')
    let text = ''
    incoming.on('data', (chunk) => {
      if (text === '') go({ status: 200, body: textReply('hi') })
      text += chunk
    })
    await new Promise((resolve) => incoming.once('end', resolve))
    expect(text).toMatch(/^event: ping\n/)
    expect(lines(eventsIn(text))).toEqual([
      ...[
        'message_start',
        '0 start text',
        '0 text_delta hi',
        '0 stop',
        'message_delta end_turn',
        'message_stop',
      ],
    ])
  },
)

it('a refusal after that is an error in the stream, in the words of the upstream, and in the log', async () => {
  const { fake, go } = await waiting()
  const gateway = await startGateway(fake.url, { headWaitMs: 20 })
  const incoming = await begin(`${gateway.url}/v1/messages`, asking('shelve'))
  let text = ''
  incoming.on('data', (chunk) => {
    if (text === '') go({ status: 529, body: errorBody('overloaded_error', 'too busy') })
    text += chunk
  })
  await new Promise((resolve) => incoming.once('end', resolve))
  expect(lines(eventsIn(text))).toEqual(['error overloaded_error'])
  expect(text).toContain('too busy')
  expect(gateway.done[0]).toMatchObject({ status: 200, error: 'too busy' })
})

it.each([true, false])('a refusal that comes quickly keeps its status (stream: %j)', async (isStream) => {
  const { fake, go } = await waiting()
  const { url } = await startGateway(fake.url, { headWaitMs: isStream ? 60_000 : 0 })
  go({ status: 429, body: errorBody('rate_limit_error') })
  expect((await send(`${url}/v1/messages`, asking('shelve', isStream))).status).toBe(429)
})
