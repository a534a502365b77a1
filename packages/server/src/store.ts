// What our other packages use of @toolshelf/server.

export { createMemoryStore } from './store/memory.ts'
export { openStateStore } from './store/open.ts'
export { createStoredResults } from './store/stored-results.ts'
