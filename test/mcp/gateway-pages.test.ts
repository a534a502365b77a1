// MCP Apps behind the gateway: tools for pages are hidden from the model, and calls of a page reach its server.
import type { ClientCapabilities } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { eras, openDesk, openGateway, textOf } from './support/gateway.ts'
import { openHost, statusOf } from './support/host.ts'
import { here } from './support/server-here.ts'

const app = (name = 'app') => here(name, `gateway-pages ${name}`)
const UI = 'io.modelcontextprotocol/ui'
const withPages = {
  extensions: { [UI]: { mimeTypes: ['text/html;profile=mcp-app'] }, 'com.example/notes': {} },
} as ClientCapabilities

describe.each(eras)('tools for pages, %s', (era) => {
  it('are neither listed to a client without pages nor found by a search', async () => {
    const { names, search, host } = await openDesk([app()], { client: { era } })
    expect((await names()).filter((name) => name.startsWith('app'))).toEqual([])
    expect(await search('select:app__refresh')).toContain('There is no tool named "app__refresh"')
    expect(await search('refresh show', { max_results: 50 })).not.toContain('app__refresh')
    expect(host.status()[0]?.tools.map(({ name }) => name)).toEqual(['show', 'forget', 'told'])
  })

  it('are listed to a client that shows pages, which keeps them from the model', async () => {
    const { raw } = await openDesk([app()], { client: { era, capabilities: withPages } })
    const listed = (await raw('tools/list')).tools.find(
      ({ name }: { name: string }) => name === 'app__refresh',
    )
    expect(listed._meta.ui).toEqual({ resourceUri: 'ui://app+app/main.html', visibility: ['app'] })
  })

  it('are called by our name, but not by the model through CallTool', async () => {
    const { call } = await openDesk([app()], { client: { era, capabilities: withPages }, mode: 'bridge' })
    expect(textOf(await call('app__refresh'))).toBe('app refresh')
    const wrapped = await call('CallTool', { name: 'app__refresh', arguments: {} })
    expect(wrapped.isError).toBe(true)
    expect(textOf(wrapped)).toContain('app__refresh')
  })

  it('H3 keep names of their own where server and tool could join to the same', async () => {
    const servers = [here('a', 'gateway-pages a b__refresh'), here('a__b', 'gateway-pages a__b')]
    const { call, raw } = await openDesk(servers, { client: { era, capabilities: withPages } })
    const names: string[] = (await raw('tools/list')).tools
      .map(({ name }: { name: string }) => name)
      .filter((name: string) => name.endsWith('b__refresh'))
    expect(names.sort()).toEqual(['a__b__refresh', 'a_b__refresh'])
    const answers = await Promise.all(names.map(async (name) => textOf(await call(name))))
    expect(answers.sort()).toEqual(['a b__refresh', 'a__b refresh'])
  })

  it('are called by their own name once the client has read the page of their server', async () => {
    const { call, client } = await openDesk([app(), app('other')], {
      client: { era, capabilities: withPages },
    })
    expect((await call('refresh')).isError).toBe(true)
    await client.readResource({ uri: 'ui://other+app/main.html' })
    expect(textOf(await call('refresh'))).toBe('other refresh')
    expect(textOf(await call('show'))).toBe('other show')
    expect((await call('forget')).isError).toBe(true)
    await client.readResource({ uri: 'ui://app+app/main.html' })
    const unclear = await call('refresh')
    expect(unclear.isError).toBe(true)
    expect(textOf(unclear)).toMatch(/several pages.*app, other.*"<server>__refresh"/)
  })
})

it('a page that one client has read opens nothing to another', async () => {
  const { connect, host } = openGateway([app()])
  const [one, other] = [
    await connect({ capabilities: withPages }),
    await connect({ capabilities: withPages }),
  ]
  await one.names()
  await host.settled()
  await one.client.readResource({ uri: 'ui://app+app/main.html' })
  expect(textOf(await one.call('refresh'))).toBe('app refresh')
  expect((await other.call('refresh')).isError).toBe(true)
})

it('a host for agents keeps them from the model as well', async () => {
  const { host, shelf } = openHost([app()])
  await host.settled()
  expect(shelf.partition().pool.byName.has('mcp__app__refresh')).toBe(false)
  expect(statusOf(host, 'app').pageTools.map(({ name }) => name)).toEqual(['refresh'])
})

describe('extensions', () => {
  it('of the client reach the servers, but for those of one connection', async () => {
    const extensions = { ...withPages.extensions, 'io.modelcontextprotocol/tasks': {} }
    const { call } = await openDesk([app()], { client: { capabilities: { extensions } }, mode: 'bridge' })
    const told = textOf(await call('CallTool', { name: 'app__told', arguments: {} }))
    expect(JSON.parse(told).extensions).toEqual(withPages.extensions)
  })

  it('of the servers reach the client, as an earlier run has seen them', async () => {
    const first = await openDesk([app()])
    expect(first.client.getServerCapabilities()?.extensions).toBeUndefined()
    const { connect } = first
    const { client } = await connect()
    expect(client.getServerCapabilities()?.extensions).toEqual({
      [UI]: { mimeTypes: ['text/html;profile=mcp-app'] },
      'com.example/notes': { version: 2 },
    })
  })
})
