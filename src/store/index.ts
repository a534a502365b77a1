// Exports of store for other folders.

export { createMemoryStore, type MemoryStoreOptions } from './memory.ts'
export { openStateStore, type StateStoreOptions } from './open.ts'
export { createStoredResults, type StoredResultOptions } from './stored-results.ts'
export {
  entriesIn,
  type MessageListener,
  type SetOptions,
  type StateStore,
  type StoredEntry,
  type StoredValue,
  StoreError,
} from './types.ts'
export { type LockOptions, withLock } from './with-lock.ts'
