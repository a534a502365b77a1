// `toolshelf users`, over a file and over a store, and a gateway process that takes both.
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { readInput } from '../../src/cli/command.ts'
import { mcpCommand } from '../../src/cli/mcp.ts'
import { gatewayUsersIn } from '../../src/cli/options.ts'
import { createKeyAuthenticator } from '../../src/users/authenticator.ts'
import type { UserDirectory } from '../../src/users/directory.ts'
import { openUserFile } from '../../src/users/file-directory.ts'
import { temporaryFolder } from '../mcp/support/folder.ts'
import { runHere } from '../support/cli-here.ts'
import { newPlaceIn, startRedis } from '../support/store-servers.ts'

const redis = await startRedis()
afterAll(() => redis?.stop())

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
})

const cli = (...words: string[]) => runHere({ folder, environment: { HOME: folder } }, words)
const places: [string, string[]][] = [
  ['a file', ['--users', 'users.json']],
  ['the default file', []],
  ...(redis ? [['a store', ['--store', newPlaceIn(redis)]] as [string, string[]]] : []),
]

describe.each(places)('in %s', (_, where) => {
  test('a key is created, shown once, listed without its secret and revoked', async () => {
    const created = await cli('users', 'add', 'ada', '--label', 'laptop', '--expires', '90d', ...where)
    expect(created).toMatchObject({ code: 0, told: expect.stringContaining('shown only now') })
    const key = created.out.trim()
    expect(key).toMatch(/^tsk_[0-9a-f]{16}_[\w-]{43}$/)
    const listed = await cli('users', 'key', '--json', ...where)
    expect(listed.out).not.toContain(key)
    const { keys } = JSON.parse(listed.out)
    expect(keys).toMatchObject([{ user: 'ada', profile: 'default', label: 'laptop', isExpired: false }])
    expect((await cli('users', 'key', ...where)).out).toMatch(/ada +default +laptop/)
    const revoked = await cli('users', 'key', 'revoke', keys[0].id, ...where)
    expect(revoked).toMatchObject({ code: 0, out: expect.stringContaining(`Revoked ${keys[0].id}`) })
    expect((await cli('users', 'key', ...where)).out).toContain('No keys yet')
    expect(await cli('users', 'key', 'revoke', keys[0].id, ...where)).toMatchObject({
      code: 1,
      told: expect.stringContaining('there is no key'),
    })
  })

  test('users get profiles, and leave with their keys', async () => {
    writeFileSync(
      join(folder, 'seed.json'),
      JSON.stringify({ profiles: { dev: { servers: { deny: ['payroll'] } }, ops: { operator: true } } }),
    )
    await cli('users', 'add', 'first', ...where)
    expect((await cli('users', 'import', 'seed.json', ...where)).out).toContain('Imported 2 profiles')
    expect(await cli('users', 'add', 'bob', '--profile', 'none', ...where)).toMatchObject({
      code: 1,
      told: expect.stringContaining('has default, dev, ops'),
    })
    await cli('users', 'add', 'bob', '--profile', 'dev', ...where)
    expect((await cli('users', 'add', 'bob', '--profile', 'ops', ...where)).told).toContain(
      'toolshelf users set bob --profile ops',
    )
    expect((await cli('users', 'set', 'bob', '--profile', 'ops', ...where)).code).toBe(0)
    expect((await cli('users', ...where)).out).toMatch(/bob +ops +1/)
    expect(await cli('users', 'set', 'bbo', '--profile', 'ops', ...where)).toMatchObject({
      code: 1,
      told: expect.stringContaining('toolshelf users add bbo --profile ops'),
    })
    expect((await cli('users', 'remove', 'bob', ...where)).code).toBe(0)
    expect((await cli('users', 'remove', 'bob', ...where)).code).toBe(1)
    expect(JSON.parse((await cli('users', 'key', '--json', ...where)).out).keys).toHaveLength(1)
  })
})

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
