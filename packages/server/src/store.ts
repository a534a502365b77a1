// For replicas: the store that they share, in memory or in Redis.

export { createMemoryStore } from './store/memory.ts'
export { openStateStore } from './store/open.ts'
export { createStoredResults } from './store/stored-results.ts'
