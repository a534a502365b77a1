// The section `oauth` of users, in a file or a store: taken up while a gateway runs, and on request.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { readInput } from '../../packages/cli/src/command.ts'
import { mcpCommand } from '../../packages/cli/src/mcp.ts'
import { gatewayUsersIn } from '../../packages/cli/src/options.ts'
import type { User } from '../../packages/core/src/users.ts'
import { createMemoryStore } from '../../packages/server/src/store/memory.ts'
import { createReplaceableAuthenticator } from '../../packages/server/src/users/authenticator.ts'
import { openUserFile, openUserStore } from '../../packages/server/src/users/directory.ts'
import { runHere } from '../../packages/testkit/src/cli-here.ts'
import { newPlaceIn, startRedis } from '../../packages/testkit/src/store-servers.ts'
import { temporaryFolder } from '../mcp/support/folder.ts'
import { until } from '../mcp/support/processes.ts'
import { profileOf } from './support.ts'

const redis = await startRedis()
afterAll(() => redis?.stop())

const METADATA = '/.well-known/oauth-protected-resource'
const issuer = (name: string) => `https://${name}.example.com`

async function open(words: readonly string[], store = createMemoryStore()) {
  onTestFinished(() => store.close())
  const said: string[] = []
  const input = readInput(mcpCommand, ['--http', ...words])
  const notify = (message: string) => void said.push(message)
  const gateway = await gatewayUsersIn(input, store, notify, { acceptsTokens: true })
  if (!gateway) throw new Error('there are no users')
  onTestFinished(() => gateway.close())
  gateway.setServedUrl('http://127.0.0.1:3399/mcp')
  const issuers = () => gateway.protectedResource.metadataAt(METADATA)?.authorization_servers
  const challenge = async () => {
    const refused = await gateway.users.authenticate(undefined)
    return 'status' in refused ? refused.challenge : undefined
  }
  return { ...gateway, said, issuers, challenge }
}

test('of a file: added, changed, wrong and removed while the gateway runs', async () => {
  const file = join(temporaryFolder(), 'users.json')
  const write = (oauth?: unknown) =>
    writeFileSync(file, JSON.stringify({ profiles: { reader: {} }, ...(oauth ? { oauth } : {}) }))
  write()
  const { reload, issuers, challenge, users, said } = await open(['--users', file])
  let changes = 0
  users.onChange(() => changes++)
  expect([issuers(), await challenge()]).toEqual([undefined, 'Bearer'])
  write({ issuer: issuer('one') })
  await reload()
  expect(issuers()).toEqual([issuer('one')])
  expect(await challenge()).toContain('resource_metadata=')
  write({ issuer: issuer('two'), scopes: { 'tools:read': 'reader' } })
  await reload()
  expect(issuers()).toEqual([issuer('two')])
  expect(await challenge()).toContain('scope="tools:read"')
  const before = changes
  write({ issuer: 'ftp://nobody' })
  await reload()
  expect(issuers()).toEqual([issuer('two')])
  expect(said.at(-1)).toMatch(/^keeping the previous OAuth settings: .*ftp:\/\/nobody/)
  write()
  await reload()
  expect([issuers(), await challenge()]).toEqual([undefined, 'Bearer'])
  // Each change of settings, and the file itself: who is connected is checked again.
  expect(changes).toBeGreaterThan(before)
})

test.skipIf(!redis)(
  'of a store: imported from a file, and taken up by every gateway that shares it',
  async () => {
    const folder = temporaryFolder()
    const url = newPlaceIn(redis!)
    const oauth = { issuer: issuer('one'), scopes: { 'tools:read': 'reader' } }
    const write = (section: object) =>
      writeFileSync(join(folder, 'users.json'), JSON.stringify({ profiles: { reader: {} }, oauth: section }))
    const environment = { HOME: folder, TOOLSHELF_STORE: url }
    const run = () => runHere({ folder, environment }, ['users', 'import', 'users.json'])
    write({ ...oauth, scopes: 'all' })
    const refused = await run()
    expect([refused.code, refused.told]).toEqual([
      1,
      expect.stringContaining('oauth: "scopes" cannot be used'),
    ])
    write(oauth)
    const { out } = await run()
    expect(out).toBe('Imported 1 profile, 0 users, the OAuth settings and 0 keys into the redis store.\n')
    const { openStateStore } = await import('../../packages/server/src/store/open.ts')
    const store = await openStateStore(url)
    const first = await open(['--users'], store)
    expect(first.issuers()).toEqual([issuer('one')])
    const other = await openUserStore(store)
    await other.saveOAuth({ ...oauth, issuer: issuer('two') })
    await until(() => String(first.issuers()) === issuer('two'), 'the gateway has the new issuer')
    expect((await other.all()).oauth).toEqual({ ...oauth, issuer: issuer('two') })
  },
)

test('a file is read anew on request, also if it looks as before', async () => {
  const file = join(temporaryFolder(), 'users.json')
  writeFileSync(file, JSON.stringify({ profiles: { reader: {} } }))
  const directory = await openUserFile(file)
  onTestFinished(() => directory.close())
  let changes = 0
  directory.onChange(() => changes++)
  await directory.sync()
  expect(changes).toBe(0)
  const profile = await directory.findProfile('reader')
  await directory.reload()
  expect(changes).toBe(1)
  // Sessions of profiles that did not change continue.
  expect(await directory.findProfile('reader')).toBe(profile)
})

test('who is accepted by settings that are replaced meanwhile is asked again', async () => {
  const user: User = { id: 'ada', uid: 'ada', profile: profileOf() }
  const nothing = { onChange: () => () => {}, close: async () => {} }
  const former = {
    ...nothing,
    async authenticate() {
      users.replace({ ...nothing, authenticate: async () => refusal, refresh: async () => undefined })
      return user
    },
    refresh: async () => user,
  }
  const refusal = { status: 401, message: 'no longer' } as const
  const users = createReplaceableAuthenticator(former)
  expect(await users.refresh(user)).toBe(user)
  expect(await users.authenticate('x')).toBe(refusal)
  expect(await users.refresh(user)).toBeUndefined()
})
