// A login from the inspector's page, with a real authorization server on loopback and a browser that follows redirects.
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { inspectedServers } from '../../packages/cli/src/gateway/inspected-servers.ts'
import { endpoints } from '../../packages/inspector/src/api.ts'
import { createOAuth } from '../../packages/mcp/src/oauth/authorize.ts'
import { login } from '../../packages/mcp/src/oauth/login.ts'
import type { ServerConfig } from '../../packages/mcp/src/types.ts'
import { browse, startAuthServer } from '../mcp/support/auth-server.ts'
import { temporaryFolder } from '../mcp/support/folder.ts'
import { openHost } from '../mcp/support/host.ts'
import { openTestInspector } from './support/inspector.ts'

async function openWithLogin(openBrowser = browse) {
  const server = await startAuthServer()
  const folder = join(temporaryFolder(), 'tokens')
  const config: ServerConfig = {
    ...{ name: 'notes', transport: { kind: 'http', url: server.url, headers: {} }, source: 'test' },
    ...{ disabled: false, lazy: false, alwaysLoad: undefined, description: undefined },
    ...{ tools: {}, allow: [], deny: [], connectTimeoutMs: 20_000, callTimeoutMs: 20_000 },
  }
  const notify = () => {}
  const { host, shelf } = openHost([config], {
    authorize: ({ name }) => createOAuth({ folder, server: name, url: server.url, notify }),
  })
  await host.settled()
  const clientInfo = { name: 'test', version: '1' }
  const inspector = openTestInspector({
    servers: inspectedServers({
      ...{ host, shelf, onChange: 'report' },
      manage: {
        configs: () => [config],
        login: (one) => login({ config: one, folder, clientInfo, print: notify, notify, openBrowser }),
      },
    }),
  })
  return { server, ...inspector }
}

const body = { server: 'notes', action: 'login' }

it('opens the browser, stores the login, and connects with it', async () => {
  const { json, server } = await openWithLogin()
  const [before] = await json(endpoints.servers)
  expect(before).toMatchObject({ state: 'failed', actions: ['start', 'login'] })
  const after = await json(endpoints.serverAction, { body })
  expect(after).toMatchObject({ state: 'connected', tools: 2 })
  expect(server.asked('/authorize')).toHaveLength(1)
  for (const secret of server.secrets) expect(JSON.stringify(after)).not.toContain(secret)
})

it('that the person refuses leaves the server as it was, and says why', async () => {
  const { json } = await openWithLogin(async () => {
    throw new Error('no browser here')
  })
  expect((await json(endpoints.serverAction, { body }, 502)).error).not.toBe('')
  expect((await json(endpoints.servers))[0]).toMatchObject({ state: 'failed', actions: ['start', 'login'] })
})
