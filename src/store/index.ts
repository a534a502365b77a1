// Public API of store for other folders.

export { createMemoryStore, type MemoryStoreOptions } from './memory.ts'
export {
  type MessageListener,
  type SetOptions,
  type StateStore,
  type StoredEntry,
  type StoredValue,
  StoreError,
} from './types.ts'
