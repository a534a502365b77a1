// The gateway against the conformance suite, with the suite's own fixtures in a server behind it.
import { describe, it } from 'vitest'
import { openHttp } from '../mcp/support/gateway-http.ts'
import { pipedSdk } from '../mcp/support/piped.ts'
import { startNameProxy } from './name-proxy.ts'
import { clients, expectServerToPass, isTried, type Revision } from './suite.ts'

const all: readonly Revision[] = ['2025-11-25', '2026-07-28']
const revisions = all.filter((revision) => isTried('gateway', revision))

// @ts-expect-error: plain JavaScript
const loadFixture = async () => (await import('./fixture-server.mjs')).createServer
const fixture = pipedSdk('fixture', loadFixture, { alwaysLoad: true })

describe.skipIf(clients.missing)('conformance of the gateway', () => {
  // The suite gives a change of the list 1.5 s to arrive, which a busy machine may miss. Each try has a gateway of its
  // own, because one gateway passes on only so many questions a minute.
  it.each(revisions)('to %s', { retry: 2 }, async (revision) => {
    const works: (() => Promise<void>)[] = []
    try {
      const { url } = await openHttp([fixture], { mode: 'list', atEnd: (work) => void works.push(work) })
      const proxy = await startNameProxy(url)
      works.push(proxy.close)
      await expectServerToPass(proxy.url, revision)
    } finally {
      for (const work of works.reverse()) await work()
    }
  })
})
