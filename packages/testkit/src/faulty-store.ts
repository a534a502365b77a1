// A store that a test can make unreachable, and that counts its operations.
import { type StateStore, StoreError } from '../../core/src/store.ts'

export type FaultyStore = StateStore & {
  /** Operations by name and the first part of their key, such as `get session`, since the last `reset`. */
  readonly counts: () => { readonly [operation: string]: number }
  reset(): void
  /** Every operation fails until `returns`; messages are missed. */
  leaves(): void
  /** The store answers again and reports a gap. */
  returns(): void
}

const OPERATIONS = ['get', 'list', 'set', 'delete', 'add', 'publish', 'subscribe'] as const

/** Wraps a store, for one replica. */
export function faultyStore(store: StateStore): FaultyStore {
  const counts = new Map<string, number>()
  const gaps = new Set<() => void>()
  let isGone = false

  async function attempt<Result>(name: string, key: string, work: () => Promise<Result>): Promise<Result> {
    const counted = `${name} ${key.split('/')[0]}`
    counts.set(counted, (counts.get(counted) ?? 0) + 1)
    if (isGone) throw new StoreError('the store is unreachable')
    return work()
  }

  type Operation = (key: string, ...rest: unknown[]) => Promise<unknown>
  const wrapped = Object.fromEntries(
    OPERATIONS.map((name): [string, Operation] => [
      name,
      (key, ...rest) => attempt(name, key, () => (store[name] as Operation)(key, ...rest)),
    ]),
  ) as Pick<StateStore, (typeof OPERATIONS)[number]>

  return {
    kind: store.kind,
    ...wrapped,
    subscribe: (channel, listener) =>
      attempt('subscribe', channel, () =>
        store.subscribe(channel, (message) => void (isGone || listener(message))),
      ),
    onGap(listener) {
      gaps.add(listener)
      return () => void gaps.delete(listener)
    },
    ping: () => attempt('ping', '', () => store.ping()),
    close: async () => {},
    counts: () => Object.fromEntries(counts),
    reset: () => counts.clear(),
    leaves: () => {
      isGone = true
    },
    returns: () => {
      isGone = false
      for (const listener of gaps) listener()
    },
  }
}
