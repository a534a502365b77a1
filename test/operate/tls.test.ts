// HTTPS on both gateways: by files, renewed while it runs, and with certificates of clients.
import { copyFileSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { request, type Server } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TLSSocket } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import { serveMcpGatewayOnHttp } from '../../packages/cli/src/http/mcp/http.ts'
import { serveMessagesGateway } from '../../packages/cli/src/http/messages/server.ts'
import { createMessagesGateway } from '../../packages/messages/src/gateway.ts'
import { createScriptUpstream } from '../../packages/messages/src/upstream/script.ts'
import { readScript } from '../../packages/messages/src/upstream/script-file.ts'
import { openTlsFiles, type TlsFiles } from '../../packages/server/src/operate/service.ts'
import { temporaryFolder } from '../mcp/support/folder.ts'
import { openGateway } from '../mcp/support/gateway.ts'
import { initialize } from '../mcp/support/gateway-http.ts'
import { until } from '../mcp/support/processes.ts'
import { neighbour } from '../mcp/support/small-servers.ts'
import { hasOpenssl, makeCertificate } from './support/certificates.ts'

type Served = { readonly url: string; reloadTls(): void; close(): Promise<void> }
type Start = (tls: TlsFiles, notify: (message: string) => void) => Promise<Served>

const startMcp: Start = async (tls, notify) => {
  const { gateway } = openGateway([neighbour()])
  return serveMcpGatewayOnHttp(gateway, { port: 0, tls, notify })
}

const startMessages: Start = (tls, notify) => {
  const upstream = createScriptUpstream({
    script: readScript({ rules: [{ when: 'bye', do: [{ say: 'bye' }] }], otherwise: 'hi' }),
  })
  return serveMessagesGateway({ gateway: createMessagesGateway({ upstream }), port: 0, tls, notify })
}

const MESSAGE = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hello' }] }

describe.skipIf(!hasOpenssl).each([
  ['mcp', startMcp, '/mcp', initialize, 'protocolVersion'],
  ['messages', startMessages, '/v1/messages', MESSAGE, 'hi'],
] as const)('%s', (_, start, path, body, expected) => {
  it('answers over HTTPS, and uses a renewed certificate without a restart', async () => {
    const folder = temporaryFolder()
    const [tls, told] = [makeCertificate(folder, 'first'), [] as string[]]
    const served = await start(tls, (message) => told.push(message))
    onTestFinished(() => served.close())
    const url = new URL(path, served.url)
    expect(url.protocol).toBe('https:')
    const answer = await send(url, { ca: tls.cert, body })
    expect(answer).toMatchObject({ status: 200, name: 'first' })
    expect(answer.text).toContain(expected)

    writeFileSync(`${tls.cert}.new`, 'no certificate')
    renameSync(`${tls.cert}.new`, tls.cert)
    served.reloadTls()
    expect(told.join()).toMatch(/first\.crt.*the certificate in use stays/)
    expect((await send(new URL('/health', served.url), {})).name).toBe('first')

    const next = makeCertificate(folder, 'second')
    copyFileSync(next.key, tls.key)
    copyFileSync(next.cert, tls.cert)
    served.reloadTls()
    expect(told.at(-1)).toContain('using the new certificate')
    expect(await send(url, { ca: tls.cert, body })).toMatchObject({ status: 200, name: 'second' })
  })
})

describe.skipIf(!hasOpenssl)('files of certificates', () => {
  it('are watched', async () => {
    const folder = temporaryFolder()
    const tls = makeCertificate(folder, 'watched')
    const source = openTlsFiles(tls, { intervalMs: 20 })
    onTestFinished(() => source.close())
    const next = makeCertificate(folder, 'next')
    copyFileSync(next.key, tls.key)
    copyFileSync(next.cert, tls.cert)
    const renewed = readFileSync(next.cert, 'utf8')
    await until(() => source.options.cert === renewed, 'the new certificate is in use')
    expect(source.options).toMatchObject({ requestCert: false, rejectUnauthorized: false })
  })

  it('are reported and handed to servers only if one of them changed', () => {
    const folder = temporaryFolder()
    const tls = makeCertificate(folder, 'own')
    const ca = join(folder, 'ca.crt')
    copyFileSync(tls.cert, ca)
    const told: string[] = []
    const source = openTlsFiles(
      { ...tls, ca },
      { notify: (message) => told.push(message), intervalMs: 600_000 },
    )
    onTestFinished(() => source.close())
    const used: unknown[] = []
    source.attach({ setSecureContext: (context: unknown) => used.push(context) } as unknown as Server)
    expect(source.options).toMatchObject({ requestCert: true, rejectUnauthorized: true })
    source.reload()
    expect(told).toEqual([])
    for (const file of [ca, tls.key, tls.cert]) {
      writeFileSync(file, `${readFileSync(file, 'utf8')}\n`)
      source.reload()
      expect(told.splice(0)).toEqual([`using the new certificate in ${tls.cert}.`])
      expect(used.splice(0)).toMatchObject([{ minVersion: 'TLSv1.2', ca: readFileSync(ca, 'utf8') }])
    }
    writeFileSync(ca, 'none')
    rmSync(tls.key)
    source.reload()
    expect(told).toEqual([
      expect.stringMatching(/^cannot read the TLS key file .*; the certificate in use stays\.$/),
    ])
    expect(used).toEqual([])
  })

  it('clients need a certificate where authorities are given', async () => {
    const folder = temporaryFolder()
    const [own, client] = [makeCertificate(folder, 'own'), makeCertificate(folder, 'client')]
    const served = await startMessages({ ...own, ca: client.cert }, () => {})
    onTestFinished(() => served.close())
    const url = new URL('/health', served.url)
    await expect(send(url, {})).rejects.toThrow()
    expect(await send(url, { client })).toMatchObject({ status: 200, name: 'own' })
  })

  it.each([
    [
      'a file that is missing',
      (folder: string, { key }: TlsFiles) => ({ key, cert: join(folder, 'none') }),
      /cannot read the TLS cert file .*none/,
    ],
    [
      'a device',
      (_: string, { key }: TlsFiles) => ({ key, cert: '/dev/zero' }),
      /cannot read the TLS cert file \/dev\/zero: it is not a file of at most 1 MB/,
    ],
    [
      'the key of another certificate',
      (folder: string, { cert }: TlsFiles) => ({ cert, key: makeCertificate(folder, 'other').key }),
      /key/i,
    ],
  ])('refuses %s', (_, change, message) => {
    const folder = temporaryFolder()
    const files = change(folder, makeCertificate(folder, 'right'))
    expect(() => openTlsFiles(files)).toThrow(message)
  })
})

type Sent = {
  readonly body?: object
  /** The file of the authority that must have signed the server's certificate; without it any will do. */
  readonly ca?: string
  readonly client?: TlsFiles
}

/** On a connection of its own; `name` is that of the server's certificate. */
function send(url: URL, { body, ca, client }: Sent): Promise<{ status: number; text: string; name: string }> {
  return new Promise((resolve, reject) => {
    const options = {
      agent: false,
      method: body ? 'POST' : 'GET',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      ...(ca === undefined ? { rejectUnauthorized: false } : { ca: readFileSync(ca) }),
      ...(client ? { cert: readFileSync(client.cert), key: readFileSync(client.key) } : {}),
    } as const
    const sent = request(url, options, async (response) => {
      const { CN: name } = (response.socket as TLSSocket).getPeerCertificate().subject
      resolve({ status: response.statusCode ?? 0, name: String(name), text: await text(response) })
    })
    sent.on('error', reject)
    sent.end(body && JSON.stringify(body))
  })
}
