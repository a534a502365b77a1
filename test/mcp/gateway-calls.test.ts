// Calls through the gateway, of both eras: every kind of result, progress, cancellation, time-outs, clients that go.
import { describe, expect, it } from 'vitest'
import type { Loose } from '../../packages/testkit/src/talk.ts'
import { eras, openDesk, openGateway, shareDesk, textOf } from './support/gateway.ts'
import { piped } from './support/piped.ts'
import { until } from './support/processes.ts'
import { here } from './support/server-here.ts'

const heardBy = async (run: (name: string) => Promise<Loose>) =>
  JSON.parse(textOf(await run('library__heard'))) as Loose[]

describe.each(eras)('results, %s', (era) => {
  const results = shareDesk([piped('results', 'results')], { client: { era } })

  it.each([
    ['large', /message of 11 MB is too large/],
    ['abyss', /nested too deeply/],
  ])('H6 %s: what would end the connection, or never be answered, is an error', async (kind, reason) => {
    const { run } = results()
    const { content, isError } = await run('results__give', { kind })
    expect(isError).toBe(true)
    expect(content).toEqual([{ type: 'text', text: expect.stringMatching(reason) }])
    expect(textOf(await run('results__give', { kind: 'text' }))).toBe('plain')
  })

  it('H6 arguments that are nested too deeply are refused, also if they were written as a text', async () => {
    const { run, call } = results()
    const refused = {
      isError: true,
      content: [{ text: 'the arguments are nested more than 1000 levels deep' }],
    }
    const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels))
    const deep = (levels: number) => ({ kind: 'text', more: nested(levels) })
    expect(textOf(await run('results__give', deep(999)))).toBe('plain')
    expect(await run('results__give', deep(1000))).toMatchObject(refused)
    const written = JSON.stringify(deep(1000))
    expect(await call('CallTool', { name: 'results__give', arguments: written })).toMatchObject(refused)
  })

  it('H6 an isError that is none is left out', async () => {
    const { run } = results()
    expect(await run('results__give', { kind: 'odd-error' })).toMatchObject({ content: [{ text: 'fine' }] })
  })

  it('structured content and _meta, beside the text or alone', async () => {
    const { run } = results()
    expect(await run('results__give', { kind: 'structured' })).toMatchObject({
      content: [{ type: 'text', text: '{"degrees":21}' }],
      structuredContent: { degrees: 21 },
      _meta: { 'example.org/source': 'sensor' },
    })
    expect(await run('results__give', { kind: 'structured-only' })).toMatchObject({
      content: [],
      structuredContent: { degrees: 21 },
    })
  })

  it('what a newer protocol may hold is not lost', async () => {
    const { raw } = results()
    const wrapped = { name: 'CallTool', arguments: { name: 'results__give', arguments: { kind: 'future' } } }
    const { content, extra } = await raw('tools/call', wrapped)
    expect(JSON.stringify(content)).toContain('hologram')
    expect(extra).toEqual({ kept: true })
  })

  it('links and embedded resources can be read through the gateway', async () => {
    const { run, client } = await openDesk([here('library', 'gateway-library')], { client: { era } })
    const { content } = await run('library__link')
    for (const uri of [content[0].uri, content[1].resource.uri]) {
      expect((await client.readResource({ uri })).contents).toEqual([
        { uri, mimeType: 'text/plain', text: `read ${uri.replace('library+', '')}` },
      ])
    }
  })
})

describe.each(eras)('the course of a call, %s', (era) => {
  it('a client that leaves in the middle of a call leaves nothing behind, and others continue', async () => {
    const open = openGateway([here('library', 'gateway-library')])
    const [leaving, staying] = [await open.connect({ era }), await open.connect({ era })]
    await staying.names()
    await open.host.settled()
    const clients = open.gateway.clients()
    leaving.run('library__wait').catch(() => {})
    await leaving.run('library__heard')
    await leaving.client.close()
    await until(async () => (await heardBy(staying.run)).length > 0, 'the server is told')
    expect(await heardBy(staying.run)).toMatchObject([{ method: 'cancelled' }])
    expect(open.gateway.clients()).toBe(era === 'legacy' ? clients - 1 : 0)
  })
})

it('H6 a client has 500 calls running at most; another one can still call', async () => {
  const { connect, host } = openGateway([piped('library', 'gateway-library')])
  const [greedy, other] = [await connect(), await connect()]
  await host.settled()
  const controller = new AbortController()
  const wait = () => greedy.run('library__wait', {}, { signal: controller.signal })
  const waiting = Array.from({ length: 500 }, () => wait().catch(() => {}))
  await expect(wait()).rejects.toThrow('500 requests of this client are running')
  expect(textOf(await other.run('library__tell', { method: 'x' }))).toBe('told')
  controller.abort()
  await Promise.all(waiting)
  expect(textOf(await greedy.run('library__tell', { method: 'x' }))).toBe('told')
})
