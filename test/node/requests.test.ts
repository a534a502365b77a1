// Who may send a request, where it comes from, and how much its body may take.
import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { createHostAccess, hostNameOf } from '../../packages/server/src/http/access.ts'
import { createClientNetwork } from '../../packages/server/src/http/client-network.ts'
import { isForInspector } from '../../packages/server/src/http/http.ts'
import { createBodies } from '../../packages/server/src/http/json-bodies.ts'

it('a host header is a name and perhaps a port', () => {
  const headers = ['Example.com', 'a.b:80', 'a.b:', '[::1]:8080', '[::1]', 'x]:1', 'a:1:2', '']
  expect(headers.map(hostNameOf)).toEqual(['example.com', 'a.b', 'a.b', '::1', '::1', 'x]', 'a:1', ''])
})

describe('hosts and origins', () => {
  const hosts = ['localhost:1', '[::1]:1', '127.0.0.1', 'own.example:99', 'Other.example', 'evil.example']
  const origins = [
    ...['http://localhost:5', 'HTTPS://Other.example', 'vscode-webview://own.example', 'own.example'],
    ...['https://evil.example', 'https://evil.example/http://localhost', 'null'],
  ]
  const judged = (address: string, names: string[]) => {
    const { isAnyHost, allowsHost, allowsOrigin } = createHostAccess(address, names)
    return { isAnyHost, hosts: hosts.filter(allowsHost), origins: origins.filter(allowsOrigin) }
  }

  it.each([
    ['127.0.0.1', [], { isAnyHost: false, hosts: hosts.slice(0, 3), origins: origins.slice(0, 1) }],
    ['0.0.0.0', [], { isAnyHost: true, hosts, origins: origins.slice(0, 1) }],
    ['OWN.example', [], { isAnyHost: true, hosts, origins: ['http://localhost:5', ...origins.slice(2, 4)] }],
    [
      'own.example',
      ['OTHER.example'],
      { isAnyHost: false, hosts: hosts.slice(0, 5), origins: origins.slice(0, 4) },
    ],
  ])('at %s with the names %j', (address, names, expected) => {
    expect(judged(address, names)).toEqual(expected)
  })
})

describe('the address of a client', () => {
  const through = (remoteAddress: string | undefined, forwarded?: string | string[]) =>
    ({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } }) as unknown as IncomingMessage

  it('is what a trusted proxy reports, and nothing that others could have written', () => {
    const networkOf = createClientNetwork(['10.0.0.0/8', '192.168.1.1', 'fd00::/16'])
    const cases: [string | undefined, string | string[] | undefined, string][] = [
      ['10.1.2.3', '1.1.1.1, 2.2.2.2', '2.2.2.2'],
      ['10.1.2.3', ' 1.1.1.1 , 10.9.9.9,192.168.1.1', '1.1.1.1'],
      ['10.1.2.3', ['1.1.1.1', '2.2.2.2'], '2.2.2.2'],
      ['10.1.2.3', '1.1.1.1, nonsense', '10.1.2.3'],
      ['10.1.2.3', '10.0.0.1, 10.0.0.2', '10.1.2.3'],
      ['10.1.2.3', '', '10.1.2.3'],
      ['10.1.2.3', undefined, '10.1.2.3'],
      ['::ffff:10.1.2.3', '::FFFF:33.3.3.3, ::ffff:10.0.0.1', '33.3.3.3'],
      ['192.168.1.1', '4.4.4.4', '4.4.4.4'],
      ['192.168.1.2', '4.4.4.4', '192.168.1.2'],
      ['fd00::1', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
      ['fd01::1', '4.4.4.4', 'fd01:0:0:0::/64'],
      [undefined, '4.4.4.4', ''],
      ['10.1.2.3', ['5.5.5.5', ...Array<string>(31).fill('10.0.0.1')], '5.5.5.5'],
      ['10.1.2.3', ['5.5.5.5', ...Array<string>(32).fill('10.0.0.1')], '10.1.2.3'],
    ]
    expect(cases.map(([peer, forwarded]) => networkOf(through(peer, forwarded)))).toEqual(
      cases.map(([, , network]) => network),
    )
    expect(createClientNetwork([])(through('10.1.2.3', '1.1.1.1'))).toBe('10.1.2.3')
  })

  it('is not left to a proxy that is none', () => {
    const accepted = ['10.0.0.5', '10.0.0.0/32', '0.0.0.0/0', '::1', 'fd00::/128']
    const refused = [
      '',
      'proxy',
      '10.0.0.0/33',
      'fd00::/129',
      '10.0.0.0/',
      '10.0.0.0/x',
      '10.0.0.0/8/8',
      '10.0.0.0/-1',
    ]
    for (const one of accepted) expect(() => createClientNetwork([one]), one).not.toThrow()
    for (const one of refused)
      expect(() => createClientNetwork([one]), one).toThrow(
        `"${one}" is not an IP address or subnet; write it as`,
      )
  })
})

it('the inspector has its path, and nothing that only begins alike', () => {
  const targets = [
    '/inspect',
    '/inspect/',
    '/inspect/a',
    '/inspect?a',
    '/inspector',
    '/x/inspect',
    '/x?/inspect/',
  ]
  expect(targets.filter(isForInspector)).toEqual(targets.slice(0, 4))
})

describe('bodies', () => {
  const SMALL = 262_144
  const text = (bytes: number) => `"${'x'.repeat(bytes - 2)}"`
  const post = (body: string | ReadableStream | null, headers = {}) =>
    new Request('http://x.example', { method: 'POST', body, headers, duplex: 'half' } as RequestInit)
  const stream = (...parts: string[]) =>
    new ReadableStream({
      start(controller) {
        for (const part of parts) controller.enqueue(new TextEncoder().encode(part))
        controller.close()
      },
    })
  const outcomeOf = (body: object) => ('status' in body ? body.status : 'read')

  it('are JSON up to a size, whatever length they declare', async () => {
    const bodies = createBodies({ maxBytes: 10, maxTotalBytes: 1 })
    expect(await bodies.read(post(stream('{"a"', ':[1]', '}')))).toMatchObject({ value: { a: [1] } })
    const cases = [
      [text(10), 'read'],
      [text(11), 413],
      [stream(text(10), ' '), 413],
      ['{', 400],
      ['', 400],
      [null, 400],
    ] as const
    for (const [body, expected] of cases) expect(outcomeOf(await bodies.read(post(body)))).toBe(expected)
    expect(await bodies.read(post(stream('1'), { 'content-length': '11' }))).toEqual({
      status: 413,
      message: 'the request body is larger than the limit of 10 bytes',
    })
    expect(outcomeOf(await bodies.read(post(stream('1'), { 'content-length': '10' })))).toBe('read')
  })

  it('H6 are refused before they are parsed if they are nested too deeply or have too many values', async () => {
    const bodies = createBodies({ maxBytes: 5_000_000, maxTotalBytes: 5_000_000 })
    const nested = (levels: number, open = '[', close = ']') => open.repeat(levels) + close.repeat(levels)
    const deep = { status: 400, message: 'the body is nested more than 1000 levels deep' }
    const many = { status: 400, message: 'the body has more than 1000000 values' }
    const lists = (count: number) => `[${`${nested(999)},`.repeat(count - 1)}${nested(999)}]`
    const cases = [
      [nested(1000), 'read'],
      [nested(1001), deep],
      [nested(1001, '{"a":[', ']}').replace('[]', '[1]'), deep],
      ['['.repeat(1001), deep],
      // Brackets in texts count as little as those in values side by side.
      [JSON.stringify(nested(1001, '["\\', '"]')), 'read'],
      [`[${Array(1001).fill('[]').join()}]`, 'read'],
      [lists(1000), 'read'],
      [lists(1003), many],
      // Two backslashes at the end of a text, and one in front of a quote.
      [`["\\\\",${nested(1000)}]`, deep],
      [`["${'x'.repeat(100)}\\"${'['.repeat(2000)}"]`, 'read'],
    ] as const
    for (const [body, expected] of cases) {
      const found = await bodies.read(post(body))
      const outcome = 'status' in found ? found : 'read'
      if ('release' in found) found.release()
      expect(outcome, body.slice(0, 50)).toEqual(expected)
    }
  })

  it('share their room if they are large, until they are released or refused', async () => {
    const limit = 2 * SMALL + 2
    const bodies = createBodies({ maxBytes: limit, maxTotalBytes: limit })
    const large = text(SMALL + 1)
    const read = async (body: string | ReadableStream = large) => {
      const found = await bodies.read(post(body))
      return { outcome: outcomeOf(found), release: 'release' in found ? found.release : () => {} }
    }
    const [one, two, three] = [
      await read(),
      await read(stream(large.slice(0, 9), large.slice(9))),
      await read(),
    ]
    expect([one.outcome, two.outcome, three.outcome]).toEqual(['read', 'read', 503])
    expect((await read(text(SMALL))).outcome).toBe('read')
    one.release()
    one.release()
    // Neither a body that is no JSON nor one that grows too large keeps its room.
    expect((await read(large.slice(1))).outcome).toBe(400)
    expect((await read(stream(large, large, '1'))).outcome).toBe(503)
    expect([(await read()).outcome, (await read()).outcome]).toEqual(['read', 503])
  })
})
