// A small least-recently-used cache.

export type Recent<Value> = {
  readonly get: (key: string) => Value | undefined
  readonly set: (key: string, value: Value) => void
}

export function createRecent<Value>(most: number): Recent<Value> {
  const values = new Map<string, Value>()
  return {
    get(key) {
      const value = values.get(key)
      if (value === undefined) return undefined
      values.delete(key)
      values.set(key, value)
      return value
    },
    set(key, value) {
      values.delete(key)
      values.set(key, value)
      const oldest = values.keys().next().value
      if (values.size > most && oldest !== undefined) values.delete(oldest)
    },
  }
}
