// Exports of messages/shelve for other folders.

export { withoutCarried } from './carry.ts'
export { createClientShelves } from './client-shelf.ts'
export { createConversations, MAX_ADDED_MESSAGES } from './conversations.ts'
export { startHidden } from './hidden-search.ts'
export { lift, type RequestShelf, restoreContextFor, type Shelved } from './lift.ts'
export { createLongResults } from './long-results.ts'
export { createSearchMemory } from './memory.ts'
export { isRestored } from './restore.ts'
export { isBound, withBindingBeta, withDroppedThinking } from './thinking.ts'
export { hasTraces, withoutCarriedIds } from './traces.ts'
