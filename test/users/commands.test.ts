// `toolshelf users`, over a file and over a store, and a gateway process that takes both.
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { readInput } from '../../packages/cli/src/command.ts'
import { mcpCommand } from '../../packages/cli/src/mcp.ts'
import { gatewayUsersIn } from '../../packages/cli/src/options.ts'
import { createKeyAuthenticator } from '../../packages/server/src/users/authenticator.ts'
import type { UserDirectory } from '../../packages/server/src/users/directory.ts'
import { openUserFile } from '../../packages/server/src/users/directory.ts'
import { runHere } from '../../packages/testkit/src/cli-here.ts'
import { startRedis } from '../../packages/testkit/src/store-servers.ts'
import { temporaryFolder } from '../mcp/support/folder.ts'

const redis = await startRedis()
afterAll(() => redis?.stop())

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
})

const cli = (...words: string[]) => runHere({ folder, environment: { HOME: folder } }, words)

test('a key in JSON, for scripts; a whole key can be revoked; the file is its owner’s alone', async () => {
  const created = await cli('users', 'add', 'ada', '--json', '--users', 'users.json')
  const { id, key, user, profile } = JSON.parse(created.out)
  expect({ user, profile }).toEqual({ user: 'ada', profile: 'default' })
  expect(statSync(join(folder, 'users.json')).mode & 0o777).toBe(0o600)
  expect(readFileSync(join(folder, 'users.json'), 'utf8')).not.toContain(key)
  const directory: UserDirectory = await openUserFile(join(folder, 'users.json'))
  const users = createKeyAuthenticator({ directory })
  expect(await users.authenticate(key)).toMatchObject({ id: 'ada', keyId: id })
  expect((await cli('users', 'key', 'revoke', key, '--users', 'users.json')).code).toBe(0)
  expect(await users.authenticate(key)).toMatchObject({ status: 401 })
  await users.close()
  await directory.close()
})

test('a gateway without users says that nobody can connect', async () => {
  writeFileSync(join(folder, 'empty.json'), '{}')
  const said = async (...words: string[]) => {
    const notices: string[] = []
    const input = readInput(mcpCommand, ['--http', '--users', join(folder, 'empty.json'), ...words])
    const gateway = await gatewayUsersIn(input, undefined, (notice) => void notices.push(notice), {
      acceptsTokens: true,
    })
    await gateway?.close()
    return notices.join('\n')
  }
  expect(await said()).toMatch(
    /has no users yet, so nobody can connect; create a key with: toolshelf users add <user> --users .*empty\.json$/,
  )
  expect(await said('--oauth-issuer', 'https://issuer.example.com')).not.toContain('nobody can connect')
  await cli('users', 'add', 'ada', '--users', 'empty.json')
  expect(await said()).toBe('')
})
