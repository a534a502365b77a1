// Counts a gateway's operations on the shared store, for `/metrics`.
import type { StateStore } from '../store/index.ts'
import type { MetricRegistry } from './registry.ts'
import type { storeSeries } from './series.ts'

type StoreMetrics = Pick<MetricRegistry<keyof typeof storeSeries>, 'add' | 'observe'>

/** Wraps a store to count its operations, their duration and the bytes transferred. */
export function meterStore(store: StateStore, metrics: StoreMetrics): StateStore {
  const count = (direction: 'in' | 'out', text: string) =>
    metrics.add('toolshelf_store_bytes_total', { store: store.kind, direction }, Buffer.byteLength(text))

  async function timed<Value>(operation: string, work: () => Promise<Value>): Promise<Value> {
    const started = performance.now()
    let outcome = 'failed'
    try {
      const value = await work()
      outcome = 'ok'
      return value
    } finally {
      const seconds = (performance.now() - started) / 1000
      metrics.add('toolshelf_store_operations_total', { store: store.kind, operation, outcome })
      metrics.observe('toolshelf_store_seconds', { store: store.kind, operation }, seconds)
    }
  }

  return {
    kind: store.kind,
    async get(key) {
      const found = await timed('get', () => store.get(key))
      count('in', found?.value ?? '')
      return found
    },
    async list(prefix, options) {
      const found = await timed('list', () => store.list(prefix, options))
      for (const { value } of found) count('in', value)
      return found
    },
    set(key, value, options) {
      count('out', value)
      return timed('set', () => store.set(key, value, options))
    },
    delete: (key, options) => timed('delete', () => store.delete(key, options)),
    add: (key, amount, ttlMs) => timed('add', () => store.add(key, amount, ttlMs)),
    publish(channel, message) {
      count('out', message)
      return timed('publish', () => store.publish(channel, message))
    },
    subscribe: (channel, listener) =>
      timed('subscribe', () =>
        store.subscribe(channel, (message) => {
          count('in', message)
          listener(message)
        }),
      ),
    onGap: (listener) => store.onGap(listener),
    ping: () => timed('ping', () => store.ping()),
    close: () => store.close(),
  }
}
