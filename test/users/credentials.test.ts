// Credentials of users: encrypted under a key from the environment, bound to their user and server, and rotated.
import { randomBytes } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createMemoryStore } from '../../src/store/index.ts'
import { openCredentialStore, openKeyring } from '../../src/users/credentials/index.ts'

const newKey = () => randomBytes(32).toString('base64')

function newStore() {
  const store = createMemoryStore()
  onTestFinished(() => store.close())
  return store
}

describe('the keyring', () => {
  test('takes keys of 32 bytes in hexadecimal and base64, and says what is wrong with others', () => {
    const key = randomBytes(32)
    for (const form of ['hex', 'base64', 'base64url'] as const) {
      const ring = openKeyring(key.toString(form))
      expect(ring.open('a', openKeyring(key.toString('hex')).seal('a', 'text'))).toBe('text')
    }
    for (const wrong of ['', 'short', randomBytes(16).toString('hex'), randomBytes(33).toString('base64')]) {
      expect(() => openKeyring(wrong)).toThrow('does not have 32 bytes')
      if (wrong) expect(() => openKeyring(wrong)).not.toThrow(wrong)
    }
    expect(() => openKeyring(`${newKey()},nonsense`)).toThrow('key 2 of TOOLSHELF_SECRET_KEY')
  })

  test('seals the same text differently each time, and shows nothing of it', () => {
    const ring = openKeyring(newKey())
    const sealed = Array.from({ length: 20 }, () => ring.seal('name', 'a secret text'))
    expect(new Set(sealed).size).toBe(20)
    for (const one of sealed) {
      const bytes = Buffer.from(one.split('.')[2] ?? '', 'base64url').toString('latin1')
      expect(bytes).not.toContain('secret')
      expect(ring.open('name', one)).toBe('a secret text')
    }
  })

  test('rejects what was changed at any place, cut, or moved to another name', () => {
    const ring = openKeyring(newKey())
    const sealed = ring.seal('credential/ann/github', 'token')
    expect(() => ring.open('credential/bob/github', sealed)).toThrow('belongs to another record')
    const [version, id, data = ''] = sealed.split('.')
    const bytes = Buffer.from(data, 'base64url')
    for (let place = 0; place < bytes.length; place++) {
      const changed = Buffer.from(bytes)
      changed.writeUInt8(changed.readUInt8(place) ^ 1, place)
      const forged = [version, id, changed.toString('base64url')].join('.')
      expect(() => ring.open('credential/ann/github', forged)).toThrow('was changed')
    }
    for (const length of [1, 12, 20, 28])
      expect(() =>
        ring.open('credential/ann/github', `1.${id}.${bytes.subarray(0, length).toString('base64url')}`),
      ).toThrow('was changed')
    expect(() => ring.open('x', 'plain text')).toThrow('not an encrypted record')
  })

  test('names the key that is missing, by its id', () => {
    const old = openKeyring(newKey())
    const sealed = old.seal('credential/ann/github', 'token')
    expect(() => openKeyring(newKey()).open('credential/ann/github', sealed)).toThrow(
      `encrypted with the key ${old.currentId}, which is not in TOOLSHELF_SECRET_KEY`,
    )
  })
})

describe('the store of credentials', () => {
  test('keeps values per user and server, and nothing readable in the store', async () => {
    const store = newStore()
    const credentials = openCredentialStore(store, openKeyring(newKey()))
    const set = (user: string, server: string, value: string) =>
      credentials.update(user, server, (before) => ({ values: { ...before?.values, TOKEN: value } }))
    await set('ann', 'github', 'value-of-ann')
    await set('id.example.com|bob/x', 'git hub', 'value-of-bob')
    expect((await credentials.read('ann', 'github'))?.values.TOKEN).toBe('value-of-ann')
    expect(await credentials.read('ann', 'git hub')).toBeUndefined()
    expect((await credentials.readAll('id.example.com|bob/x')).get('git hub')).toEqual({
      values: { TOKEN: 'value-of-bob' },
    })
    expect((await credentials.readAll('id.example.com|bob')).size).toBe(0)
    expect(await credentials.list()).toEqual([
      { user: 'ann', server: 'github', names: ['TOKEN'], hasLogin: false },
      { user: 'id.example.com|bob/x', server: 'git hub', names: ['TOKEN'], hasLogin: false },
    ])
    expect(JSON.stringify(await store.list(''))).not.toMatch(/value-of/)
    expect(await credentials.remove('ann', 'github')).toBe(true)
    expect(await credentials.remove('ann', 'github')).toBe(false)
  })

  test("a user's record in the place of another's is refused, and the others go on", async () => {
    const store = newStore()
    const credentials = openCredentialStore(store, openKeyring(newKey()))
    for (const user of ['ann', 'bob'])
      for (const server of ['a', 'b'])
        await credentials.update(user, server, () => ({ values: { TOKEN: `${user}-${server}` } }))
    const stolen = await store.get('credential/ann/a')
    await store.set('credential/bob/a', stolen?.value ?? '')
    await expect(credentials.read('bob', 'a')).rejects.toThrow('belongs to another record')
    const all = await credentials.readAll('bob')
    expect(all.get('a')).toBeInstanceOf(Error)
    expect(all.get('b')).toEqual({ values: { TOKEN: 'bob-b' } })
    expect((await credentials.list('bob')).map(({ problem }) => problem !== undefined)).toEqual([true, false])
  })

  test('writes at the same time lose nothing', async () => {
    const store = newStore()
    const key = newKey()
    const replicas = [1, 2, 3].map(() => openCredentialStore(store, openKeyring(key)))
    await Promise.all(
      replicas.map((replica, index) =>
        replica.update('ann', 'github', (before) => ({ values: { ...before?.values, [`V${index}`]: 'x' } })),
      ),
    )
    expect((await replicas[0]?.list('ann'))?.[0]?.names).toEqual(['V0', 'V1', 'V2'])
  })

  test('a new key in front of the old ones: old records are readable, and resealed on request', async () => {
    const store = newStore()
    const [first, second] = [newKey(), newKey()]
    const before = openCredentialStore(store, openKeyring(first))
    for (const user of ['ann', 'bob']) await before.update(user, 's', () => ({ values: { A: user } }))
    const both = openCredentialStore(store, openKeyring(`${second}, ${first}`))
    await both.update('bob', 's', (found) => ({ values: { ...found?.values, B: '2' } }))
    expect((await both.read('ann', 's'))?.values.A).toBe('ann')
    expect(await both.reseal()).toBe(1)
    expect(await both.reseal()).toBe(0)
    const after = openCredentialStore(store, openKeyring(second))
    expect((await after.read('ann', 's'))?.values).toEqual({ A: 'ann' })
    expect((await after.read('bob', 's'))?.values).toEqual({ A: 'bob', B: '2' })
    await expect(before.read('ann', 's')).rejects.toThrow('which is not in TOOLSHELF_SECRET_KEY')
  })
})
