// The gateway against the conformance suite, with the suite's own fixtures in a server behind it.
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { type HttpGateway, makeHome, startHttpGateway } from '../clients/gateway.ts'
import { type NameProxy, startNameProxy } from './name-proxy.ts'
import { clients, expectServerToPass, type Revision } from './suite.ts'

const revisions: readonly Revision[] = ['2025-11-25', '2026-07-28']

describe.skipIf(clients.missing)('conformance of the gateway', { timeout: 100_000 }, () => {
  const home = makeHome()
  let gateway: HttpGateway
  let proxy: NameProxy

  beforeAll(async () => {
    const fixture = {
      command: process.execPath,
      args: [fileURLToPath(new URL('fixture-server.mjs', import.meta.url))],
      alwaysLoad: true,
    }
    const config = home.write('fixture.json', { mcpServers: { fixture } })
    gateway = await startHttpGateway(clients.node, { ...home, config }, '--mode', 'list')
    proxy = await startNameProxy(gateway.url)
  })
  afterAll(async () => {
    await proxy?.close()
    await gateway?.stop()
    home.remove()
  })

  // The suite gives a change of the list 1.5 s to arrive, which a busy machine may miss.
  it.each(revisions)('to %s', { retry: 2 }, async (revision) => {
    await expectServerToPass(proxy.url, revision)
  })
})
