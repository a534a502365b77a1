// Credentials of users: encrypted under a key from the environment, bound to their user and server, and rotated.
import { randomBytes } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { StateStore } from '../../packages/core/src/store.ts'
import {
  openCredentialStore,
  openKeyring,
  removeUserCredentials,
} from '../../packages/mcp/src/personal/credential-store.ts'
import { createMemoryStore } from '../../packages/server/src/store/memory.ts'

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
    const hex = key.toString('hex')
    for (const wrong of [`${hex}0`, `0${hex}`, `${newKey()}=`, `.${newKey().slice(1)}`, `${newKey()},`])
      expect(() => openKeyring(wrong)).toThrow('does not have 32 bytes')
    const keys = Array.from({ length: 21 }, newKey)
    const [last = ''] = keys.slice(19)
    expect(openKeyring(keys.slice(0, 20).join()).open('a', openKeyring(last).seal('a', 'text'))).toBe('text')
    expect(() => openKeyring(keys.join())).toThrow('more than 20 keys')
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
    for (const plain of ['plain text', '', `${sealed}!`, `x${sealed}`, `2${sealed.slice(1)}`]) {
      expect(() => ring.open('credential/ann/github', plain)).toThrow('not an encrypted record')
      expect(ring.keyIdOf(plain)).toBeUndefined()
    }
    expect(ring.keyIdOf(sealed)).toBe(ring.currentId)
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

  test('refuses a user’s record in the place of another’s, and the others keep working', async () => {
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

  test('reports changes, deletes and removals with their user; a quiet change is not reported', async () => {
    const store = newStore()
    let gap = () => {}
    const onGap = (listener: () => void) => {
      gap = listener
      return () => {
        gap = () => {}
      }
    }
    const credentials = openCredentialStore({ ...store, onGap }, openKeyring(newKey()))
    const heard: (string | undefined)[] = []
    const stop = await credentials.watch((user) => void heard.push(user))
    const set = (
      user: string,
      values: { [name: string]: string } | undefined,
      options?: { isQuiet: boolean },
    ) => credentials.update(user, 's', () => values && { values, login: { token: 1 } }, options)
    await set('ann', { A: '1' })
    await set('bob', { A: '1' }, { isQuiet: true })
    expect(await credentials.read('bob', 's')).toEqual({ values: { A: '1' }, login: { token: 1 } })
    expect(await credentials.list('bob')).toMatchObject([{ hasLogin: true }])
    gap()
    await set('ann', undefined)
    expect(await credentials.read('ann', 's')).toBeUndefined()
    await set('carl', undefined)
    await credentials.remove('dora', 's')
    await credentials.remove('bob', 's')
    await stop()
    gap()
    await set('ann', { A: '1' })
    expect(heard).toEqual(['ann', undefined, 'ann', 'carl', 'bob'])
  })

  test('removes all that a user has, page by page, and nothing of others', async () => {
    const store = newStore()
    const heard: string[] = []
    await store.subscribe('credentials', (user) => heard.push(user))
    for (let index = 0; index < 501; index++) await store.set(`credential/ann/${index}`, 'unreadable')
    await store.set('credential/anna/s', 'unreadable')
    const credentials = openCredentialStore(store, openKeyring(newKey()))
    expect(await credentials.list('ann')).toHaveLength(501)
    expect((await credentials.list()).at(-1)).toEqual({
      ...{ user: 'anna', server: 's', names: [], hasLogin: false },
      problem: 'credential/anna/s is not an encrypted record; remove it and set it again',
    })
    expect(await removeUserCredentials(store, 'ann')).toBe(501)
    expect(await removeUserCredentials(store, 'ann')).toBe(0)
    expect(heard).toEqual(['ann'])
    expect(await credentials.list()).toHaveLength(1)
  })

  test('a record has at most 100 values and 100,000 characters', async () => {
    const credentials = openCredentialStore(newStore(), openKeyring(newKey()))
    const set = (values: { [name: string]: string }) => credentials.update('ann', 's', () => ({ values }))
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`V${i}`, '']))
    const frame = JSON.stringify({ values: { A: '' } }).length
    await set(many(100))
    await set({ A: 'x'.repeat(100_000 - frame) })
    await expect(set(many(101))).rejects.toThrow('more than 100000 characters or 100 values')
    await expect(set({ A: 'x'.repeat(100_001 - frame) })).rejects.toThrow('credential/ann/s would have')
    expect((await credentials.read('ann', 's'))?.values).toHaveProperty('A')
  })

  test('a change that others overtake each time is given up after ten tries', async () => {
    const store = newStore()
    let tries = 0
    const set: StateStore['set'] = async (...given) => (++tries < 11 ? undefined : store.set(...given))
    const credentials = openCredentialStore({ ...store, set }, openKeyring(newKey()))
    const change = () => credentials.update('ann', 's', () => ({ values: {} }))
    await expect(change()).rejects.toThrow('credential/ann/s is being changed by others; try again')
    expect(tries).toBe(10)
    await change()
    expect(tries).toBe(11)
  })

  test('a record that was changed while all are resealed is left to whoever changed it', async () => {
    const store = newStore()
    const [first, second] = [newKey(), newKey()]
    await openCredentialStore(store, openKeyring(first)).update('ann', 's', () => ({ values: { A: '1' } }))
    const ring = openKeyring(`${second},${first}`)
    const set: StateStore['set'] = async () => undefined
    expect(await openCredentialStore({ ...store, set }, ring).reseal()).toBe(0)
    expect(await openCredentialStore(store, ring).reseal()).toBe(1)
  })

  test('only texts are values, and none is inherited', async () => {
    const store = newStore()
    const ring = openKeyring(newKey())
    const credentials = openCredentialStore(store, ring)
    const seal = (text: string) => store.set('credential/ann/s', ring.seal('credential/ann/s', text))
    await seal('{"values":{"A":7}}')
    await expect(credentials.read('ann', 's')).rejects.toThrow('credential/ann/s is not as expected')
    await seal('{}')
    const found = await credentials.read('ann', 's')
    expect(found).toEqual({ values: {} })
    expect(found?.values.constructor).toBeUndefined()
    await seal('{')
    await expect(credentials.readAll('ann')).rejects.toThrow(SyntaxError)
  })

  test('work for one record is done by one at a time, for two at once', async () => {
    const credentials = openCredentialStore(newStore(), openKeyring(newKey()))
    let running = 0
    let most = 0
    const work = async () => {
      most = Math.max(most, ++running)
      await new Promise((resolve) => setImmediate(resolve))
      running--
      return most
    }
    await Promise.all([credentials.alone('ann', 's', work), credentials.alone('ann', 's', work)])
    expect(most).toBe(1)
    await Promise.all([credentials.alone('ann', 's', work), credentials.alone('bob', 's', work)])
    expect(most).toBe(2)
  })
})
