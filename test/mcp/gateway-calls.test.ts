// Calls through the gateway, of both eras: every kind of result, progress, cancellation, time-outs, clients that go.
import { describe, expect, it } from 'vitest'
import type { Loose } from '../support/talk.ts'
import { eras, openDesk, openGateway, shareDesk, textOf } from './support/gateway.ts'
import { piped } from './support/piped.ts'
import { until } from './support/processes.ts'
import { here } from './support/server-here.ts'
import { local } from './support/servers.ts'
import { neighbour } from './support/small-servers.ts'

const heardBy = async (run: (name: string) => Promise<Loose>) =>
  JSON.parse(textOf(await run('library__heard'))) as Loose[]

describe.each(eras)('results, %s', (era) => {
  const results = shareDesk([piped('results', 'results')], { client: { era } })

  it.each([
    ['text', { type: 'text', text: 'plain' }],
    ['image', { type: 'image', mimeType: 'image/png', data: expect.stringMatching(/^iVBOR/) }],
    ['audio', { type: 'audio', mimeType: 'audio/wav', data: 'UklGRg==' }],
    [
      'link',
      { type: 'resource_link', uri: 'results+file:///notes.txt', name: 'notes', mimeType: 'text/plain' },
    ],
    [
      'embedded',
      {
        type: 'resource',
        resource: { uri: 'results+file:///notes.txt', mimeType: 'text/plain', text: 'dear diary' },
      },
    ],
  ])('%s', async (kind, block) => {
    const { run } = results()
    const { content, isError } = await run('results__give', { kind })
    expect(content).toEqual([block])
    expect(isError).toBeUndefined()
  })

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

  it('a failed tool stays a result with isError, a refused request an error', async () => {
    const { run } = results()
    expect(await run('results__give', { kind: 'error' })).toMatchObject({
      isError: true,
      content: [{ text: 'the disk is full' }],
    })
    await expect(run('results__give', { kind: 'refused' })).rejects.toThrow('no such kind of bread')
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
  it('progress comes through in its order', async () => {
    const { run } = await openDesk([here('results', 'results')], { client: { era } })
    const seen: Loose[] = []
    const onprogress = (step: Loose) => seen.push(step)
    expect(textOf(await run('results__slow', { steps: 3 }, { onprogress }))).toBe('3 steps')
    expect(seen).toEqual([1, 2, 3].map((step) => ({ progress: step, total: 3, message: `step ${step}` })))
  })

  it('a cancelled call is cancelled at the server, with the reason', async () => {
    const { run } = await openDesk([here('library', 'gateway-library')], { client: { era } })
    const controller = new AbortController()
    const waiting = run('library__wait', {}, { signal: controller.signal })
    const rejected = expect(waiting).rejects.toThrow('changed my mind')
    await heardBy(run)
    controller.abort('changed my mind')
    await rejected
    await until(async () => (await heardBy(run)).length > 0, 'the server is told')
    expect(await heardBy(run)).toEqual([
      { method: 'cancelled', params: { requestId: expect.anything(), reason: 'changed my mind' } },
    ])
  })

  it('the time-out of the configuration ends a call that says nothing: an error that names it', async () => {
    const library = here('library', 'gateway-library', { callTimeoutMs: 2000 })
    const { run } = await openDesk([library], { client: { era } })
    const result = await run('library__wait')
    expect(result.isError).toBe(true)
    expect(textOf(result)).toMatch(/\b2 s|2000 ms/)
    await until(async () => (await heardBy(run)).length > 0, 'the server is told')
  })

  it('a server that dies in a call is an error that says so; the others continue', async () => {
    const { run } = await openDesk([local('bad', 'crash call'), neighbour()], { client: { era } })
    const result = await run('bad__explode')
    expect(result.isError).toBe(true)
    expect(textOf(result)).toMatch(/"bad" ended during the call.*not known/s)
    expect(textOf(result)).not.toContain('ACME_KEY')
    expect(textOf(await run('neighbour__add', { a: 1, b: 2 }))).toBe('3')
  })

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

  it('fifty calls at once each get their own answer', async () => {
    const { run } = await openDesk([piped('neighbour', 'healthy')], { client: { era } })
    const numbers = Array.from({ length: 50 }, (_, index) => index)
    const answers = await Promise.all(numbers.map((a) => run('neighbour__add', { a, b: 1 })))
    expect(answers.map(textOf)).toEqual(numbers.map((a) => String(a + 1)))
  })
})

describe('two clients', () => {
  it('each has its own loaded set', async () => {
    const open = openGateway([neighbour()])
    const [one, other] = [await open.connect(), await open.connect()]
    await open.host.settled()
    await one.search('select:neighbour__add')
    expect(await one.names()).toEqual(['ToolSearch', 'neighbour__add'])
    expect(await other.names()).toEqual(['ToolSearch'])
    expect(await other.changes()).toBe(0)
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
