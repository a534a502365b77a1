// What passes through the gateway unchanged: `_meta`, JSON-RPC errors, and errors that send the user to a URL.
import { describe, expect, it } from 'vitest'
import type { Loose } from '../../packages/testkit/src/talk.ts'
import { type ClientOptions, eras, openDesk, openGateway, textOf } from './support/gateway.ts'
import { until } from './support/processes.ts'
import { here } from './support/server-here.ts'

const echo = () => here('echo', 'gateway-echo')
const opened = (client: ClientOptions) => openDesk([echo()], { client })

const trace = {
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01',
  tracestate: 'vendor=1',
  baggage: 'user=ada',
}

describe.each(eras)('_meta, %s', (era) => {
  const wrapped = (name: string, input: object = {}) => ({
    name: 'CallTool',
    arguments: { name, arguments: input },
  })

  it('trace context and vendor keys reach the server, and its own come back', async () => {
    const { raw } = await opened({ era })
    const sent = { ...trace, 'example.org/user': { id: 7 } }
    const result = await raw('tools/call', { ...wrapped('echo__meta'), _meta: sent })
    expect(JSON.parse(textOf(result))).toMatchObject(sent)
    expect(result._meta).toMatchObject({ 'example.org/cost': 3 })
  })

  it('what belongs to one connection stays there, both ways', async () => {
    const { raw } = await opened({ era })
    const own = { progressToken: 'mine', 'io.modelcontextprotocol/related-task': { taskId: '1' } }
    const result = await raw('tools/call', { ...wrapped('echo__meta'), _meta: { ...trace, ...own } })
    const { progressToken, ...got } = JSON.parse(textOf(result))
    expect(got).toEqual(trace)
    expect(progressToken).not.toBe('mine')
    expect(JSON.stringify(result._meta ?? {})).not.toContain('"echo"')
  })

  it('prompts and resources pass it too', async () => {
    const { raw } = await opened({ era })
    const prompt = await raw('prompts/get', { name: 'echo__meta', _meta: trace })
    expect(JSON.parse(prompt.messages[0].content.text)).toMatchObject(trace)
    expect(prompt._meta).toMatchObject({ 'example.org/cost': 3 })
    const read = await raw('resources/read', { uri: 'echo+echo://meta', _meta: trace })
    expect(JSON.parse(read.contents[0].text)).toMatchObject(trace)
  })

  it('of one that is too large only the trace context passes', async () => {
    const { raw } = await opened({ era })
    const _meta = { ...trace, 'example.org/much': 'x'.repeat(100_000) }
    const { progressToken: _, ...got } = JSON.parse(
      textOf(await raw('tools/call', { ...wrapped('echo__meta'), _meta })),
    )
    expect(got).toEqual(trace)
  })
})

describe.each(eras)('errors of a server, %s', (era) => {
  it.each([
    ['with data', { code: -32011, message: 'try later', data: { after: 30 } }],
    ['without', { code: -32603, message: 'it broke' }],
  ])('a JSON-RPC error stays one, %s', async (_, error) => {
    const { run } = await opened({ era })
    await expect(run('echo__fail', { error })).rejects.toMatchObject(error)
  })
})

describe('a server that sends the user to a URL', () => {
  const needed = {
    code: -32042,
    message: 'payment needed',
    data: { elicitations: [{ mode: 'url', elicitationId: 'pay-1', url: 'https://example.org/pay' }] },
  }
  const capabilities = { elicitation: { form: {}, url: {} } }

  it('an older client gets the error with its data, and alone hears when it is done', async () => {
    const open = openGateway([echo()])
    const [one, other] = [await open.connect({ capabilities }), await open.connect({ capabilities })]
    await one.names()
    await open.host.settled()
    const done: [string, Loose][] = []
    for (const [name, { client }] of Object.entries({ one, other }))
      client.setNotificationHandler('notifications/elicitation/complete', ({ params }) => {
        done.push([name, params])
      })
    await expect(one.run('echo__pay')).rejects.toMatchObject(needed)
    await other.run('echo__paid')
    await until(() => done.length > 0, 'the client hears')
    expect(done).toEqual([['one', { elicitationId: 'pay-1' }]])
    expect(textOf(await one.run('echo__pay'))).toBe('paid')
  })

  it('asks a newer client, and continues the call once the user is done', async () => {
    const open = openGateway([echo()])
    const other = await open.connect({ era: 'modern' })
    await other.names()
    await open.host.settled()
    const asked: Loose[] = []
    const { run } = await open.connect({
      era: 'modern',
      capabilities,
      answer: ({ params }) => {
        asked.push(params)
        void other.run('echo__paid')
        return { action: 'accept' }
      },
    })
    expect(textOf(await run('echo__pay'))).toBe('paid')
    expect(asked).toMatchObject([
      {
        mode: 'url',
        url: 'https://example.org/pay',
        message: expect.stringMatching(
          /^The MCP server "echo" asks you to open a page of example\.org:\nPlease pay\.$/,
        ),
      },
    ])
  })

  it.each([
    ['declines', { capabilities, answer: () => ({ action: 'decline' }) }, /did not agree to open/],
    ['cannot be asked', {}, /must first visit a page.*Please pay\. https:\/\/example\.org\/pay/s],
  ])('reports to a newer client that its user %s', async (_, client: ClientOptions, reason) => {
    const { run } = await opened({ era: 'modern', ...client })
    const result = await run('echo__pay')
    expect(result.isError).toBe(true)
    expect(textOf(result)).toMatch(reason)
  })
})
