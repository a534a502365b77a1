// What a profile, a user and a key may be: one rich example of each with every single change of it, and each bound from both
// sides.
import { expect, test } from 'vitest'
import { createMemoryStore } from '../../src/store/index.ts'
import { hasSameRights, openUserStore, rightsOf } from '../../src/users/index.ts'
import { effects } from '../support/variants.ts'
import { profileOf } from './support.ts'

const KEY_ID = '0123456789abcdef'

/** Reads one record as a gateway with a store does. */
async function read(kind: 'profile' | 'user' | 'key', name: string, value: unknown): Promise<unknown> {
  const store = createMemoryStore()
  const directory = await openUserStore(store)
  try {
    await store.set(`${kind}/${name}`, JSON.stringify(value))
    if (kind === 'profile') return await directory.findProfile(name)
    return await (kind === 'user' ? directory.findUser(name) : directory.findKey(name))
  } finally {
    await directory.close()
    await store.close()
  }
}

const profile = {
  servers: { allow: ['a*'], deny: ['b'] },
  tools: { allow: ['a/*'], deny: ['a/x'] },
  listing: 'bridge',
  mode: 'auto',
  resultBudget: 0,
  limits: {
    ...{ requestsPerMinute: 1, requestsPerDay: 2, searchesPerMinute: 3, searchesPerDay: 4 },
    ...{ tokensPerMinute: 5, tokensPerDay: 0 },
  },
  operator: true,
}
const uid = '0123456789abcdef0123456789abcdef'
const user = {
  ...{ profile: 'p', uid },
  token: { issuer: 'https://id.example.com', email: 'ada@example.com', subject: 'a' },
}
const key = {
  ...{ user: 'ada', uid },
  hash: 'ab'.repeat(32),
  created: '2026-01-01T00:00:00Z',
  expires: '2027-01-01T00:00:00Z',
  label: 'laptop',
}

test('a record is what was written, and each wrong part is named', async () => {
  const lines = await Promise.all([
    effects(profile, async (value) => [JSON.stringify(await read('profile', 'p', value), null, 1)]),
    effects(user, async (value) => [JSON.stringify(await read('user', 'ada', value))]),
    effects(key, async (value) => [JSON.stringify(await read('key', KEY_ID, value), null, 1)]),
  ])
  await expect(lines.join('\n')).toMatchFileSnapshot('./records.txt')
})

test('a profile that was saved is read back as it was', async () => {
  const store = createMemoryStore()
  const directory = await openUserStore(store)
  for (const value of [profile, {}, { operator: false }, { limits: {} }]) {
    await store.set('profile/p', JSON.stringify(value))
    const before = await directory.findProfile('p')
    expect(before?.name).toBe('p')
    if (before) await directory.saveProfile(before)
    expect(await directory.findProfile('p')).toEqual(before)
  }
  await directory.close()
  await store.close()
})

const patterns = (count: number) => Array.from({ length: count }, () => 'a')

test.each<[kind: 'profile' | 'user' | 'key', name: string, right: unknown, wrong: unknown]>([
  ['profile', 'p', { listing: 'auto' }, { listing: '' }],
  ['profile', 'p', { mode: 'off' }, { mode: null }],
  ['profile', 'p', { resultBudget: 0 }, { resultBudget: -1 }],
  ['profile', 'p', { resultBudget: 1 }, { resultBudget: 0.5 }],
  ['profile', 'p', { limits: { tokensPerDay: 0 } }, { limits: { tokensPerDay: -1 } }],
  ['profile', 'p', { limits: null }, { limits: [] }],
  ['profile', 'p', { operator: false }, { operator: 'yes' }],
  ['profile', 'p', { servers: null }, { servers: [] }],
  ['profile', 'p', { servers: { allow: patterns(1000) } }, { servers: { allow: patterns(1001) } }],
  ['profile', 'p', { tools: { deny: ['a'.repeat(300)] } }, { tools: { deny: ['a'.repeat(301)] } }],
  ['profile', 'p', { tools: { deny: ['a', 'b'] } }, { tools: { deny: ['a', ''] } }],
  ['profile', 'p', {}, null],
  ['user', 'ada', user, { ...user, name: 'Ada' }],
  ['user', 'ada', { profile: '', uid }, { uid }],
  ['user', 'ada', { profile: 'p', uid }, { profile: 'p' }],
  ['user', 'ada', user, { ...user, uid: uid.toUpperCase() }],
  ['user', 'ada', user, { ...user, uid: `${uid}0` }],
  ['user', 'ada', user, { ...user, token: { issuer: 'https://id.example.com' } }],
  ['user', 'ada', user, { ...user, token: { email: 'ada@example.com' } }],
  ['user', 'ada', user, { ...user, token: { ...user.token, email: '\u212ate@example.com' } }],
  ['user', 'ada', user, { ...user, token: { ...user.token, email: 'ada' } }],
  ['key', KEY_ID, key, { ...key, uid: 'ada' }],
  ['key', KEY_ID, key, { ...key, hash: `${key.hash}a` }],
  ['key', KEY_ID, key, { ...key, hash: `x${key.hash}` }],
  ['key', KEY_ID, key, { ...key, hash: key.hash.toUpperCase() }],
  ['key', KEY_ID, { ...key, created: '2026-01-01T00:00Z' }, { ...key, created: '2026-01-01' }],
  ['key', KEY_ID, key, { ...key, created: '2026-99-01T00:00:00Z' }],
  ['key', KEY_ID, key, { ...key, expires: 'on 2026-01-01T00:00:00Z' }],
  ['key', KEY_ID, key, { ...key, label: 7 }],
])('%s %s: case %#, right and wrong', async (kind, name, right, wrong) => {
  expect(await read(kind, name, right)).toBeDefined()
  await expect(read(kind, name, wrong)).rejects.toThrow(`${kind}s.${name}`)
})

test.each([
  ['p', ''],
  ['a b', ' a'],
  ['ä', 'a '],
  ['a'.repeat(200), 'a'.repeat(201)],
  ['a-b', 'a\nb'],
  ['語', 'a\u2028b'],
])('what can be a name, and what cannot: case %#', async (right, wrong) => {
  for (const [kind, value] of [['profile', {}] as const, ['user', { profile: 'p', uid }] as const]) {
    expect(await read(kind, right, value)).toBeDefined()
    await expect(read(kind, wrong, value)).rejects.toThrow('cannot be a name')
  }
})

test.each([`${KEY_ID}0`, `x${KEY_ID}`, KEY_ID.toUpperCase(), ''])('%j is no id of a key', async (id) => {
  await expect(read('key', id, key)).rejects.toThrow('the id must be 16 hexadecimal digits')
})

const rules = (allow: readonly string[], deny: readonly string[] = []) => ({ allow, deny })

test.each([
  [{}, ['a/x', 'a/y', 'b/x']],
  [{ servers: rules(['a']) }, ['a/x', 'a/y']],
  [{ servers: rules([], ['a']) }, ['b/x']],
  [{ servers: rules(['*'], ['b']) }, ['a/x', 'a/y']],
  [{ tools: rules(['*/x']) }, ['a/x', 'b/x']],
  [{ tools: rules([], ['a/*']) }, ['b/x']],
  [{ servers: rules(['a']), tools: rules(['b/x', 'a/y']) }, ['a/y']],
])('the profile %j shows %j', (given, seen) => {
  const rights = rightsOf(profileOf(given))
  const tools = ['a/x', 'a/y', 'b/x'].filter((name) => {
    const [server = '', tool = ''] = name.split('/')
    return rights.seesTool(server, tool)
  })
  expect(tools).toEqual(seen)
})

test('two profiles with the same rules have the same rights; one with others does not', () => {
  const [one, same, other] = [profileOf(), profileOf(), profileOf({ tools: rules(['x']) })]
  expect(rightsOf(one)).toBe(rightsOf(one))
  expect(rightsOf(one).id).toBe(rightsOf(same).id)
  expect(rightsOf(one).id).not.toBe(rightsOf(other).id)
  const userOf = (profile: typeof one) => ({ id: 'ada', uid: 'ada', profile })
  expect(hasSameRights(userOf(one), userOf(one))).toBe(true)
  expect(hasSameRights(userOf(one), userOf(same))).toBe(true)
  expect(hasSameRights(userOf(one), userOf(other))).toBe(false)
  expect(hasSameRights(userOf(one), undefined)).toBe(false)
  expect(hasSameRights(undefined, undefined)).toBe(true)
})
