// A gateway over HTTP with two servers, and users with a key each.
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import type { Trace } from '../../packages/core/src/events.ts'
import type { StateStore } from '../../packages/core/src/store.ts'
import type { Profile } from '../../packages/core/src/users.ts'
import { createMemoryStore } from '../../packages/server/src/store/memory.ts'
import { createKeyAuthenticator } from '../../packages/server/src/users/authenticator.ts'
import { openUserStore } from '../../packages/server/src/users/directory.ts'
import { createKey } from '../../packages/server/src/users/records.ts'
import { createUsageMeter } from '../../packages/server/src/users/usage.ts'
import type { AtEnd, OpenOptions } from '../mcp/support/gateway.ts'
import { openHttp } from '../mcp/support/gateway-http.ts'
import { type CatalogueServer, profileOf, startCatalogue } from './support.ts'

const shop = (name: string): CatalogueServer => ({
  name,
  tools: [`${name}_one`, `${name}_two`],
  prompt: `${name}_prompt`,
  resource: `${name}_book`,
  isAlwaysLoaded: false,
  isBroken: false,
})

type Given = {
  readonly profiles?: { readonly [user: string]: Partial<Profile> }
  readonly options?: OpenOptions
  readonly http?: object
  readonly store?: StateStore
  /** The clock by which keys are checked. */
  readonly now?: () => number
  /** Takes what is to be done at the end; of the test, unless given. */
  readonly atEnd?: AtEnd
}

/** One gateway for all tests of a group that change nothing but users of their own. */
export function shareWithUsers(given: Given): () => Awaited<ReturnType<typeof openWithUsers>> {
  const works: (() => Promise<void>)[] = []
  let open: Awaited<ReturnType<typeof openWithUsers>>
  beforeAll(async () => {
    open = await openWithUsers({ ...given, atEnd: (work) => void works.push(work) })
  })
  afterAll(async () => {
    for (const work of works.reverse()) await work()
  })
  return () => open
}

/** A gateway with two servers, and users with a key each. */
export async function openWithUsers(given: Given = {}) {
  const {
    profiles = { ada: {}, bob: {} },
    options,
    http,
    store,
    now = Date.now,
    atEnd = onTestFinished,
  } = given
  const running = await startCatalogue([shop('github'), shop('payroll')])
  atEnd(() => running.close())
  const shared = store ?? createMemoryStore()
  atEnd(async () => shared.close())
  const directory = await openUserStore(shared)
  const keys: { [user: string]: { readonly id: string; readonly token: string } } = {}
  for (const [id, profile] of Object.entries(profiles)) {
    await directory.saveProfile(profileOf({ ...profile, name: id }))
    await directory.saveUser(id, { profile: id })
    const { record, ...key } = createKey(id)
    await directory.saveKey(key.id, record)
    keys[id] = key
  }
  const users = createKeyAuthenticator({ directory, now })
  const usage = createUsageMeter({ store: shared })
  const events: Trace[] = []
  const trace = (event: Trace) => void events.push(event)
  const open = await openHttp(running.configs, {
    ...{ usage, mode: 'bridge', atEnd, ...options },
    http: { users, trace, ...http },
  })
  const bearer = (user: string) => ({ authorization: `Bearer ${keys[user]?.token}` })
  return {
    ...open,
    running,
    directory,
    keys,
    bearer,
    events,
    key: (user: string) => ({ key: keys[user]?.token ?? '' }),
  }
}
