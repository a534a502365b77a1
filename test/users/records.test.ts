// What a profile, a user and a key may be: one rich example of each, and each bound from both sides.
import { expect, test } from 'vitest'
import { hasSameRights, rightsOf } from '../../packages/core/src/users.ts'
import { createMemoryStore } from '../../packages/server/src/store/memory.ts'
import { openUserStore } from '../../packages/server/src/users/directory.ts'
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
  tools: { allow: ['a__*'], deny: ['a__x'] },
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
  [
    'profile',
    'p',
    { tools: { deny: [`a__${'a'.repeat(297)}`] } },
    { tools: { deny: [`a__${'a'.repeat(298)}`] } },
  ],
  ['profile', 'p', { tools: { deny: ['*', 'a__b'] } }, { tools: { deny: ['*', ''] } }],
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
  [{}, ['a__x', 'a__y', 'b__x']],
  [{ servers: rules(['a']) }, ['a__x', 'a__y']],
  [{ servers: rules([], ['A']) }, ['b__x']],
  [{ servers: rules(['*'], ['b']) }, ['a__x', 'a__y']],
  [{ tools: rules(['*__x']) }, ['a__x', 'b__x']],
  [{ tools: rules(['*']) }, ['a__x', 'a__y', 'b__x']],
  [{ tools: rules([], ['mcp__a__*']) }, ['b__x']],
  [{ servers: rules(['a']), tools: rules(['b__x', 'mcp__a__y']) }, ['a__y']],
])('H3 the profile %j shows %j', (given, seen) => {
  const rights = rightsOf(profileOf(given))
  expect(['a__x', 'a__y', 'b__x', 'x'].filter((name) => rights.seesTool(name))).toEqual(seen)
})

test.each([
  ['raise', '"raise" names no server; put its name in front, as in "server__raise", or write "*__raise" for'],
  [
    '*_raise',
    '"*_raise" names no server; put its name in front, as in "server__*_raise", or write "*__*_raise"',
  ],
  ['payroll/raise', '"payroll/raise" names no server'],
  ['mcp__payroll', '"mcp__payroll" names no tool; write "payroll__*" for every tool of a server'],
  [
    'pay.roll__raise',
    '"pay.roll__raise" matches no tool, because of how tools are named; write "pay_roll__raise"',
  ],
  ['payroll__raise.all', 'write "payroll__raise_all"'],
  ['payroll__', 'write "payroll__*"'],
])('H3 the pattern %j of tools is refused with what to write', async (pattern, message) => {
  for (const side of ['allow', 'deny'])
    await expect(read('profile', 'p', { tools: { [side]: [pattern] } })).rejects.toThrow(
      `profiles.p: ${message.startsWith('"') ? message : ''}`,
    )
  await expect(read('profile', 'p', { tools: { deny: [pattern] } })).rejects.toThrow(message)
})

test.each([
  ['my db', 'my_db'],
  ['git__hub', 'git_hub'],
  ['a'.repeat(31), 'a'.repeat(30)],
  ['mcp', 'mcp_server'],
  ['_x*', 'x*'],
])('H3 the pattern %j of servers is refused; %j can match', async (pattern, right) => {
  await expect(read('profile', 'p', { servers: { deny: [pattern] } })).rejects.toThrow(
    `profiles.p: "${pattern}" matches no server, because of how servers are named; write "${right}"`,
  )
  await expect(read('profile', 'p', { servers: { deny: [right] } })).resolves.toBeDefined()
})

test('two profiles with the same rules have the same rights; one with others does not', () => {
  const [one, same, other] = [profileOf(), profileOf(), profileOf({ tools: rules(['a__x']) })]
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
