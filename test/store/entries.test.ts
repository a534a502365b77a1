// Lists of a store that are longer than one page.
import { expect, it } from 'vitest'
import { openPins } from '../../src/mcp/pins/index.ts'
import { createMemoryStore, entriesIn } from '../../src/store/index.ts'

it('all entries are read, in order, however many there are', async () => {
  const store = createMemoryStore()
  const keys = Array.from({ length: 1001 }, (_, number) => `a/${String(number).padStart(4, '0')}`)
  for (const key of [...keys].reverse()) await store.set(key, key)
  await store.set('b/other', '')
  const found: string[] = []
  for await (const { key } of entriesIn(store, 'a/')) found.push(key)
  expect(found).toEqual(keys)
  for await (const { key } of entriesIn(store, 'c/')) expect(key).toBe('none')
})

it('the pins of many servers are listed, not only the first page of them', async () => {
  const store = createMemoryStore()
  const pins = openPins({ folder: undefined, store })
  await pins.judge('server', [{ name: 'tool', inputSchema: { type: 'object' } }])
  const { value } = (await store.get('pins/server'))!
  for (let number = 0; number < 1001; number++) await store.set(`pins/${number}`, value)
  expect(await pins.list()).toHaveLength(1002)
})
