// The gateway against the conformance suite, with the suite's own fixtures in a server behind it.
import { fileURLToPath } from 'node:url'
import { afterAll, describe, it } from 'vitest'
import { makeHome, startHttpGateway } from '../clients/gateway.ts'
import { startNameProxy } from './name-proxy.ts'
import { clients, expectServerToPass, type Revision } from './suite.ts'

const revisions: readonly Revision[] = ['2025-11-25', '2026-07-28']

describe.skipIf(clients.missing)('conformance of the gateway', () => {
  const home = makeHome()
  afterAll(() => home.remove())

  // The suite gives a change of the list 1.5 s to arrive, which a busy machine may miss. Each try has a gateway of its
  // own, because one gateway passes on only so many questions a minute.
  it.each(revisions)('to %s', { retry: 2 }, async (revision) => {
    const fixture = {
      command: process.execPath,
      args: [fileURLToPath(new URL('fixture-server.mjs', import.meta.url))],
      alwaysLoad: true,
    }
    const config = home.write('fixture.json', { mcpServers: { fixture } })
    const gateway = await startHttpGateway(clients.node, { ...home, config }, '--mode', 'list')
    const proxy = await startNameProxy(gateway.url)
    try {
      await expectServerToPass(proxy.url, revision)
    } finally {
      await proxy.close()
      await gateway.stop()
    }
  })
})
