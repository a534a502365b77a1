// Which change of the servers reaches which client of a gateway, and what clients may remember; the host is described.

import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { serveMcpGatewayOnHttp } from '../../src/mcp/http/index.ts'
import type { Loose } from '../support/talk.ts'
import { connectWith, type Desk } from './support/gateway.ts'
import { initialize } from './support/gateway-http.ts'
import { notedGateway, status } from './support/noted-host.ts'
import { tool } from './support/small-servers.ts'

/** The lists that a client was notified of since the last call. */
async function toldTo({ client, told }: Desk): Promise<string[]> {
  await client.listPrompts()
  const lists = told.map(({ method }) => method.split('/')[1] ?? '')
  ;(told as Loose[]).length = 0
  return lists
}

describe('a client with a session', () => {
  it.each([
    ['servers', ['prompts', 'resources', 'tools']],
    ['tools', ['tools']],
    ['prompts', ['prompts']],
    ['resources', ['resources']],
    ['state', []],
  ])('is notified at %s of %j, if its tools have changed', async (type, lists) => {
    const { connect, emit, shelve } = notedGateway()
    const desk = await connect()
    await desk.names()
    shelve('a', [tool('one')], true)
    emit({ type, server: 'a', status: status('a') })
    expect((await toldTo(desk)).sort()).toEqual(lists)
  })

  it('is not notified of unchanged tools', async () => {
    const { connect, emit } = notedGateway()
    const desk = await connect()
    await desk.names()
    emit({ type: 'tools', server: 'a', status: status('a') })
    expect(await toldTo(desk)).toEqual([])
  })

  it('hears no more when it has left', async () => {
    const { connect, listening } = notedGateway()
    const before = listening()
    const { client } = await connect()
    expect(listening()).toBeGreaterThan(before)
    await client.close()
    expect(listening()).toBe(before)
  })
})

describe('clients without a session', () => {
  it('are notified of tools only if their own list changes, and of everything else as it happens', () => {
    const { gateway, emit, shelve } = notedGateway()
    const heard: Loose[] = []
    const stop = gateway.onChange((event) => heard.push(event))
    const tools = { type: 'tools', server: 'a' }
    emit(tools)
    shelve('a', [tool('hidden')])
    emit(tools)
    expect(heard.splice(0)).toEqual([])
    shelve('a', [tool('one')], true)
    emit({ type: 'prompts', server: 'a' })
    expect(heard.splice(0)).toEqual([{ type: 'prompts', server: 'a' }])
    emit(tools)
    emit(tools)
    expect(heard.splice(0)).toEqual([tools])
    shelve('a', [tool('two')], true)
    emit({ type: 'servers' })
    emit(tools)
    expect(heard.splice(0)).toEqual([{ type: 'servers' }])
    stop()
    emit({ type: 'servers' })
    expect(heard).toEqual([])
  })

  it('hear over HTTP what they listen for, until the gateway ends', async () => {
    const { gateway, emit, shelve, listening } = notedGateway()
    const unused = notedGateway()
    const { url, close } = await serveMcpGatewayOnHttp(gateway, { port: 0 })
    onTestFinished(close)
    const desk = await connectWith(new StreamableHTTPClientTransport(new URL(url)), { era: 'modern' })
    await desk.client.listen({
      ...{ toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true },
      resourceSubscriptions: ['a+book://one'],
    })
    const heard: string[] = []
    let next = () => {}
    const told = desk.told as Loose[]
    told.push = (...events: Loose[]) => {
      for (const { method, params } of events) heard.push(params?.uri ?? method.split('/')[1])
      next()
      return heard.length
    }
    const until = (count: number) =>
      new Promise<string[]>((resolve) => {
        next = () => heard.length >= count && resolve(heard.splice(0).sort())
        next()
      })
    emit({ type: 'prompts', server: 'a' })
    emit({ type: 'resources', server: 'a' })
    expect(await until(2)).toEqual(['prompts', 'resources'])
    shelve('a', [tool('one')], true)
    emit({ type: 'tools', server: 'a' })
    emit({ type: 'resource', server: 'a', uri: 'book://one' })
    expect(await until(2)).toEqual(['a+book://one', 'tools'])
    emit({ type: 'servers' })
    expect(await until(3)).toEqual(['prompts', 'resources', 'tools'])
    await Promise.all([close(), unused.gateway.close()])
    expect(listening()).toBe(unused.listening())
  })

  it.each([
    [[status('a')], 60_000],
    [[status('a'), status('b', { hasListed: false })], 0],
    [[status('a'), status('b', { state: 'failed', hasListed: false })], 60_000],
    [[status('a'), status('b', { state: 'pending' })], 0],
  ])('may remember a list only if no more is expected: %#', async (statuses, ttlMs) => {
    const { connect, describe: set } = notedGateway()
    set(...statuses)
    const single = await connect({ era: 'modern' })
    expect(await single.raw('tools/list')).toMatchObject({ ttlMs, cacheScope: 'private' })
    const { raw } = await connect()
    expect(await raw('tools/list')).not.toHaveProperty('ttlMs')
  })
})

describe('sessions over HTTP', () => {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

  async function open(maxSessions: number) {
    const { gateway } = notedGateway()
    const { url, close, sessions } = await serveMcpGatewayOnHttp(gateway, { port: 0, maxSessions })
    onTestFinished(close)
    const send = (body: object, id?: string) =>
      fetch(url, {
        method: 'POST',
        headers: { ...headers, ...(id ? { 'mcp-session-id': id } : {}) },
        body: JSON.stringify(body),
      })
    const begin = async () => {
      const response = await send(initialize)
      await response.text()
      return [response.status, response.headers.get('mcp-session-id') ?? ''] as const
    }
    const ping = async (id: string) => {
      const response = await send({ jsonrpc: '2.0', id: 2, method: 'ping' }, id)
      await response.text()
      return response.status
    }
    return { url, begin, ping, sessions }
  }

  it('make room for another if they were never used, the oldest first', async () => {
    const { begin, ping, sessions } = await open(2)
    const [, used] = await begin()
    const [, unused] = await begin()
    expect(await ping(used)).toBe(200)
    const [code, third] = await begin()
    expect(code).toBe(200)
    expect([await ping(used), await ping(unused), await ping(third)]).toEqual([200, 404, 200])
    expect(sessions()).toBe(2)
    expect((await begin())[0]).toBe(503)
  })

  it('keep their place while a stream is open', async () => {
    const { url, begin, ping } = await open(1)
    const [, first] = await begin()
    const leave = new AbortController()
    const stream = await fetch(url, {
      headers: { accept: 'text/event-stream', 'mcp-session-id': first },
      signal: leave.signal,
    })
    expect([stream.status, (await begin())[0]]).toEqual([200, 503])
    leave.abort()
    expect(await ping(first)).toBe(200)
  })
})
