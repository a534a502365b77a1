// Another process at a store, for the suite of stores: adds to a counter, adds under a lock, adds by versions, then says so.
import { openStateStore, withLock } from '../../../test/doors.ts'

const [url = '', count = '0'] = process.argv.slice(2)
const store = await openStateStore(url, { timeoutMs: 60_000 })
for (let round = 0; round < Number(count); round++) {
  await store.add('two/count', 1, 600_000)
  await withLock(store, 'two/lock', 60_000, async () => {
    const found = await store.get('two/locked')
    await store.set('two/locked', String(Number(found?.value ?? 0) + 1))
  })
  for (;;) {
    const found = await store.get('two/version')
    const next = String(Number(found?.value ?? 0) + 1)
    if (await store.set('two/version', next, { ifVersion: found?.version ?? null })) break
  }
}
await store.publish('two/news', `${process.pid} has written`)
await store.close()
