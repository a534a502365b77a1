// Whose a resource is: two servers with the same URI never answer for each other, and nobody is tried by guess.
import { describe, expect, it } from 'vitest'
import { createSubscriptions } from '../../packages/mcp/src/gateway/updates.ts'
import type { McpHost } from '../../packages/mcp/src/types.ts'
import type { Loose } from '../../packages/testkit/src/talk.ts'
import { eras, openDesk, openGateway } from './support/gateway.ts'
import { listed, neighbour, tool } from './support/small-servers.ts'

type Offer = { readonly uris?: readonly string[]; readonly templates?: readonly string[] }

/** A server that lists these and would read any URI it is asked for. */
function offering(name: string, { uris = [], templates = [] }: Offer, tools: readonly object[] = []) {
  const server = listed(name)
  server.write(tools, undefined, {
    resources: uris.map((uri) => ({ uri, name: uri })),
    templates: templates.map((uriTemplate) => ({ uriTemplate, name: uriTemplate })),
  })
  return server.config
}

const read = async (client: Loose, uri: string): Promise<string> =>
  (await client.readResource({ uri })).contents[0].text

describe('H9 a URI without a server', () => {
  it.each<[string, { readonly [server: string]: Offer }, string, string | RegExp]>([
    [
      'that one lists',
      { a: { uris: ['note://x'] }, b: { uris: ['note://y'] } },
      'note://x',
      'a read note://x',
    ],
    [
      'that two list',
      { a: { uris: ['note://x'] }, b: { uris: ['note://x'] } },
      'note://x',
      /server\+uri: "a\+note:\/\/x" or "b\+note:\/\/x"/,
    ],
    [
      'that nobody lists',
      { a: { uris: ['note://x'] }, b: { uris: ['note://y'] } },
      'file:///etc/passwd',
      /cannot tell which server.*"a\+file:\/\/\/etc\/passwd"/,
    ],
    [
      'that one lists and another’s template covers',
      { a: { templates: ['file:///{path}'] }, evil: { uris: ['file:///notes'] } },
      'file:///notes',
      /"evil\+file:\/\/\/notes" or "a\+file:\/\/\/notes"/,
    ],
    [
      'that a template of one of several covers',
      { a: { templates: ['file:///{path}'] }, b: { uris: ['note://y'] } },
      'file:///notes',
      /cannot tell which server/,
    ],
    [
      'that the template of the only one covers',
      { a: { templates: ['file:///{path}'] } },
      'file:///notes',
      'a read file:///notes',
    ],
    [
      'that the only one does not offer',
      { a: { uris: ['note://x'], templates: ['{anything}'] } },
      'file:///notes',
      /cannot tell which server.*"a\+file:\/\/\/notes"/,
    ],
  ])('%s', async (_, offers, uri, answer) => {
    const servers = Object.entries(offers).map(([name, offer]) => offering(name, offer))
    const { connect, host } = openGateway([neighbour(), ...servers])
    for (const era of eras) {
      const { client, names } = await connect({ era })
      await names()
      await host.settled()
      if (typeof answer === 'string') expect(await read(client, uri)).toBe(answer)
      else await expect(read(client, uri)).rejects.toThrow(answer)
    }
  })
})

describe.each(eras)('H9 a URI without a server, %s', (era) => {
  it('that a server may have which is not there', async () => {
    const away = listed('away')
    const { connect } = openGateway([offering('here', { uris: ['note://x'] }), away.config])
    const { client } = await connect({ era })
    await expect(read(client, 'note://x')).rejects.toThrow(/"here\+note:\/\/x" or "away\+note:\/\/x"/)
    expect(await read(client, 'here+note://x')).toBe('here read note://x')
  })

  it('is not completed by guess either', async () => {
    const templates = ['note://{name}']
    const { client } = await openDesk([offering('a', { templates }), offering('b', { templates })], {
      client: { era },
    })
    const ref = { type: 'ref/resource' as const, uri: 'note://{name}' }
    await expect(client.complete({ ref, argument: { name: 'name', value: '' } })).rejects.toThrow(
      /server\+uri/,
    )
  })
})

it('H9 sends subscriptions to the named server, and refuses them if the server is not clear', async () => {
  const { client } = await openDesk([
    offering('a', { uris: ['note://x'] }),
    offering('b', { uris: ['note://x'] }),
  ])
  await expect(client.subscribeResource({ uri: 'note://x' })).rejects.toThrow(
    /"a\+note:\/\/x" or "b\+note:\/\/x"/,
  )
})

it('H6 a client subscribes to a thousand resources at most, and others still can', async () => {
  const sent: string[] = []
  const request = async (_: string, method: string) => {
    sent.push(method)
    return {}
  }
  const host = { request, listen: () => () => {}, status: () => [{ name: 'a' }] }
  const subscriptions = createSubscriptions(host as unknown as McpHost)
  const [greedy, other] = [{}, {}]
  const resource = (count: number) => ({ server: 'a', uri: `note://${count}` })
  for (let count = 0; count < 1000; count++) await subscriptions.add(greedy, resource(count))
  await expect(subscriptions.add(greedy, resource(1000))).rejects.toThrow('1000 resources; unsubscribe')
  await subscriptions.add(greedy, resource(1))
  await subscriptions.add(other, resource(1000))
  expect(subscriptions.isWanted(other, resource(1000))).toBe(true)
  await subscriptions.remove(greedy, resource(1))
  await subscriptions.add(greedy, resource(1000))
  await expect(
    subscriptions.add(other, { server: 'a', uri: `note://${'x'.repeat(10_000)}` }),
  ).rejects.toThrow('too long')
  subscriptions.leave(greedy)
  expect(sent.filter((method) => method === 'resources/unsubscribe')).toHaveLength(1000 - 1 + 1)
  expect(subscriptions.isWanted(other, resource(1000))).toBe(true)
})

it('H6 an error repeats only the start of a name or a URI', async () => {
  const { client } = await openDesk([offering('a', { uris: ['note://x'] }), offering('b', {})])
  const long = 'x'.repeat(1_000_000)
  const errors = [
    await client.readResource({ uri: `note://${long}` }).catch((error) => error),
    await client.getPrompt({ name: long }).catch((error) => error),
  ]
  for (const { message, data } of errors)
    expect((message + JSON.stringify(data ?? null)).length).toBeLessThan(4000)
})

describe.each(eras)('pages of MCP Apps, %s', (era) => {
  const page = 'ui://view/index.html'
  const app = tool('show', {
    _meta: {
      ui: { resourceUri: page, visibility: ['model'] },
      'ui/resourceUri': page,
      'openai/outputTemplate': page,
    },
  })
  const opened = () =>
    openDesk(
      [offering('one', { uris: [page] }, [app]), offering('two', { uris: [page] }, [app])].map((config) => ({
        ...config,
        alwaysLoad: true,
      })),
      { client: { era } },
    )

  it('of two servers under one URI are each read at their own, by a URI that still begins with ui://', async () => {
    const { raw, client } = await opened()
    const tools: Loose[] = (await raw('tools/list')).tools.filter(({ name }: Loose) =>
      name.endsWith('__show'),
    )
    expect(tools.map(({ _meta }) => _meta.ui)).toEqual([
      { resourceUri: 'ui://one+view/index.html', visibility: ['model'] },
      { resourceUri: 'ui://two+view/index.html', visibility: ['model'] },
    ])
    for (const { _meta } of tools) {
      const [server] = _meta.ui.resourceUri.slice('ui://'.length).split('+')
      expect([_meta['ui/resourceUri'], _meta['openai/outputTemplate']]).toEqual(
        Array(2).fill(_meta.ui.resourceUri),
      )
      const { contents } = await client.readResource({ uri: _meta.ui.resourceUri })
      expect(contents).toMatchObject([{ uri: _meta.ui.resourceUri, text: `${server} read ${page}` }])
    }
    const { resources } = await client.listResources()
    expect(resources.map(({ uri }) => uri)).toEqual(['ui://one+view/index.html', 'ui://two+view/index.html'])
  })

  it('that a result names, links to or holds are of its own server', async () => {
    const { run } = await opened()
    const result = {
      content: [
        { type: 'resource', resource: { uri: page, text: '<p>' } },
        { type: 'resource_link', uri: page, name: 'page' },
        { type: 'text', text: page },
      ],
      _meta: { ui: { resourceUri: page } },
    }
    expect(await run('two__show', { result })).toMatchObject({
      content: [
        { resource: { uri: 'ui://two+view/index.html' } },
        { uri: 'ui://two+view/index.html' },
        { text: page },
      ],
      _meta: { ui: { resourceUri: 'ui://two+view/index.html' } },
    })
  })
})
