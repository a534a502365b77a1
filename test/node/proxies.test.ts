// Our own requests go through the proxy that the environment names: which one, how, and what is said when it fails.

import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createSecure } from 'node:https'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { proxyFor, proxyProblems } from '../../packages/core/src/node/proxies.ts'
import { capabilitiesFromUrl } from '../../packages/core/src/node.ts'
import { openRequest } from '../../packages/messages/src/upstream/http.ts'
import { runHere } from '../../packages/testkit/src/cli-here.ts'
import { type LoggingProxy, startLoggingProxy } from '../../packages/testkit/src/logging-proxy.ts'
import { readFiles } from '../../scripts/statements-page.ts'
import { temporaryFolder } from '../mcp/support/folder.ts'
import { serveScript } from '../mcp/support/server-here.ts'
import {
  ask,
  deadAddress,
  requestFor,
  startFake,
  startGateway,
  stream,
  textReply,
} from '../messages/support/faults.ts'
import { hasOpenssl, makeCertificate } from '../operate/support/certificates.ts'
import { newPlace, type Place } from '../terminal/support.ts'

/** The variables of a proxy, and no others that name one. */
function use(environment: { readonly [name: string]: string }): void {
  const none = ['http_proxy', 'https_proxy', 'all_proxy', 'no_proxy'].flatMap((name) => [
    name,
    name.toUpperCase(),
  ])
  for (const name of none) vi.stubEnv(name, undefined)
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
  onTestFinished(() => void vi.unstubAllEnvs())
}

describe('H12 which proxy a request goes through', () => {
  const through = (url: string, environment: { readonly [name: string]: string }) =>
    proxyFor(new URL(url), environment)?.name

  it.each([
    ['http://a.test/', { HTTP_PROXY: 'http://p:1' }, 'http://p:1'],
    ['http://a.test/', { http_proxy: 'p:1', HTTP_PROXY: 'http://q:1' }, 'http://p:1'],
    ['https://a.test/', { HTTP_PROXY: 'http://p:1' }, undefined],
    ['https://a.test/', { HTTPS_PROXY: 'http://u:p@p:1' }, 'http://p:1'],
    ['https://a.test/', { ALL_PROXY: 'https://p:1' }, 'https://p:1'],
    ['https://a.test/', { ALL_PROXY: 'http://p:1', HTTPS_PROXY: 'http://q:1' }, 'http://q:1'],
    ['https://a.test/', { HTTPS_PROXY: '' }, undefined],
  ])('%s with %j: %s', (url, environment, name) => {
    expect(through(url, environment)).toBe(name)
  })

  it.each([
    ['*', 'http://a.test/', false],
    ['a.test', 'http://a.test/', false],
    ['a.test', 'http://b.a.test/', false],
    ['.a.test', 'http://b.a.test/', false],
    ['*.a.test', 'http://b.a.test/', false],
    ['a.test', 'http://ba.test/', true],
    ['A.TEST', 'http://a.test./', false],
    ['x, a.test:8080', 'http://a.test:8080/', false],
    ['x a.test:8080', 'http://a.test/', true],
    ['a.test:80', 'http://a.test/', false],
    ['10.0.0.0/8', 'http://10.2.3.4/', false],
    ['10.0.0.0/8', 'http://11.2.3.4/', true],
    ['10.1.1.1', 'http://10.1.1.1/', false],
    ['fd00::/8', 'http://[fd00::1]/', false],
    ['::1/999', 'http://[fd00::1]/', true],
    ['', 'http://localhost/', false],
    ['', 'http://a.localhost:3000/', false],
    ['', 'http://127.0.0.1:3000/', false],
    ['', 'http://127.9.9.9/', false],
    ['', 'http://[::1]/', false],
    ['', 'http://[::ffff:127.0.0.1]/', false],
    ['', 'http://128.0.0.1/', true],
  ])('NO_PROXY=%s, %s: %s', (none, url, isProxied) => {
    expect(through(url, { HTTP_PROXY: 'http://p:1', NO_PROXY: none }) !== undefined).toBe(isProxied)
  })

  it('one that cannot be used is named by its variable alone, and not used', () => {
    const environment = { HTTPS_PROXY: 'socks5://user:geheim@p:1', ALL_PROXY: 'http://%' }
    expect(through('https://a.test/', environment)).toBeUndefined()
    expect(proxyProblems(environment)).toEqual([
      'ALL_PROXY is not used: a proxy is written as http://host:port or https://host:port.',
      'HTTPS_PROXY is not used: a proxy is written as http://host:port or https://host:port.',
    ])
  })
})

/** A server over HTTPS that says hello; its certificate is of its own making. */
async function startSecure(): Promise<string> {
  const { cert, key } = makeCertificate(temporaryFolder(), 'secure')
  const files = { cert: readFileSync(cert), key: readFileSync(key) }
  const server = createSecure(files, (_, outgoing) => void outgoing.end('{"hello":1}'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function startPlain(): Promise<string> {
  const server = createServer((incoming, outgoing) => void outgoing.end(JSON.stringify(incoming.headers)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Both ways in which we make requests. */
const ways = {
  fetch: (url: string) => capabilitiesFromUrl(url)(),
  'node:http': async (url: string) => {
    const request = { method: 'GET', headers: {}, signal: new AbortController().signal }
    return json(await openRequest(new URL(url), request))
  },
}

describe.each(Object.entries(ways))('H12 requests of %s', (_, get) => {
  it('H12 of plain HTTP ask the proxy for the whole URL', async () => {
    const proxy = await startLoggingProxy('ada:ge heim')
    use(proxy.environment)
    proxy.lead('api.test', await startPlain())
    expect(await get('http://api.test/x?y=1')).toMatchObject({ host: 'api.test' })
    expect(await get(await startPlain())).toMatchObject({ host: expect.stringMatching(/^127/) })
    expect(proxy.log).toEqual(['GET http://api.test/x?y=1'])
  })

  it.skipIf(!hasOpenssl)('H12 of HTTPS go through a tunnel', async () => {
    const proxy = await startLoggingProxy('ada:ge heim')
    use(proxy.environment)
    proxy.lead('api.test', await startSecure())
    for (let count = 0; count < 3; count++) expect(await get('https://api.test/')).toEqual({ hello: 1 })
    expect(new Set(proxy.log)).toEqual(new Set(['CONNECT api.test:443']))
  })

  it('H12 H8 that fail at the proxy name it, without its password', async () => {
    const dead = (await deadAddress()).host
    use({ HTTP_PROXY: `http://ada:geheim@${dead}`, HTTPS_PROXY: `http://ada:geheim@${dead}` })
    for (const url of ['http://api.test/', 'https://api.test/']) {
      const message = messagesOf(await get(url).catch((error: unknown) => error))
      expect(message).toContain(`the proxy http://${dead} cannot be reached (ECONNREFUSED)`)
      expect(message).not.toContain('geheim')
    }
  })

  it('H12 that the proxy refuses say so', async () => {
    const proxy = await startLoggingProxy('ada:geheim')
    use({ HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` })
    expect(messagesOf(await get('https://api.test/').catch((error: unknown) => error))).toContain(
      `the proxy http://127.0.0.1:${proxy.port} refuses to connect (HTTP 407)`,
    )
  })
})

function messagesOf(error: unknown): string {
  const { message = '', cause } = (error ?? {}) as Error
  return cause ? `${message} ${messagesOf(cause)}` : message
}

/** Runs a command with a proxy; what it asked the proxy for. */
async function asked(proxy: LoggingProxy, place: Place, words: readonly string[]) {
  const environment = { ...place.environment, ...proxy.environment, PATH: process.env.PATH ?? '' }
  const ran = await runHere({ folder: place.folder, environment }, words)
  return { ...ran, log: proxy.log }
}

describe('H12 commands behind a proxy', () => {
  it('H12 a remote server is connected through it', async () => {
    const proxy = await startLoggingProxy()
    proxy.lead('mcp.test', serveScript('healthy'))
    const place = newPlace()
    const url = `http://mcp.test${new URL(serveScript('healthy')).pathname}`
    place.file('toolshelf.json', { mcpServers: { far: { url } } })
    const { out, log } = await asked(proxy, place, ['list', '--json', '--config', 'toolshelf.json'])
    expect(JSON.parse(out).servers).toMatchObject([{ name: 'far', state: 'connected' }])
    expect(new Set(log.map((line) => line.split(' ')[1]))).toEqual(new Set([url]))
  })

  it('H12 a server behind a proxy that is down says so', async () => {
    const dead = await deadAddress()
    const place = newPlace({ HTTP_PROXY: dead.href })
    place.file('toolshelf.json', { mcpServers: { far: { url: 'http://mcp.test/mcp' } } })
    const { out } = await runHere(place, ['list', '--json', '--config', 'toolshelf.json'])
    expect(JSON.parse(out).servers[0].reason).toContain(`the proxy ${dead.origin} cannot be reached`)
  })

  it('H12 a login is made through it', async () => {
    const proxy = await startLoggingProxy()
    const refusing = await startFake((outgoing) => void outgoing.writeHead(401).end())
    proxy.lead('mcp.test', refusing.url)
    const place = newPlace()
    place.file('toolshelf.json', { mcpServers: { far: { url: 'http://mcp.test/mcp' } } })
    const { log } = await asked(proxy, place, ['login', 'far', '--config', 'toolshelf.json'])
    expect(log).toContain('GET http://mcp.test/.well-known/oauth-protected-resource/mcp')
  })

  it('H12 the model, a remote index of skills and a collector of events are reached through it', async () => {
    const proxy = await startLoggingProxy()
    const model = await startFake((outgoing) => stream(outgoing, textReply('hi there')))
    const rest = await startFake((outgoing) => void outgoing.end('{"skills":[]}'))
    proxy.lead('model.test', model.url)
    for (const host of ['skills.test', 'otel.test']) proxy.lead(host, rest.url)
    const place = newPlace({
      ...{ ANTHROPIC_BASE_URL: 'http://model.test', ANTHROPIC_API_KEY: 'k' },
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel.test:4318',
    })
    const words = ['run', 'hello', '--skills', 'http://skills.test/index.json']
    const { out, log } = await asked(proxy, place, words)
    expect(out).toContain('hi there')
    expect(log).toEqual(
      expect.arrayContaining([
        'GET http://skills.test/index.json',
        'POST http://model.test/v1/messages',
        'POST http://otel.test:4318/v1/traces',
      ]),
    )
  })

  it('H12 the upstream of a gateway is reached through it', async () => {
    const proxy = await startLoggingProxy()
    const model = await startFake((outgoing) => stream(outgoing, textReply('hi there')))
    proxy.lead('model.test', model.url)
    use(proxy.environment)
    const gateway = await startGateway(new URL('http://model.test'))
    expect((await ask(gateway, requestFor('emulate'))).text).toContain('hi there')
    expect(proxy.log).toEqual(['POST http://model.test/v1/messages'])
  })
})

it('H12 all our requests are made by this fetch', () => {
  const others = readFiles('packages').filter(
    ({ path, text }) =>
      !/inspector\/src\/page|proxied-fetch|oauth\/token/.test(path) &&
      /(?:^|[=?(!] |await )fetch\(|(?:=|\?\?) fetch\b/m.test(text),
  )
  expect(others.map(({ path }) => path)).toEqual([])
})
