// Exports of inspector/events for other folders.
export type { EventBatch, EventFeed, ReadEventsOptions } from './files.ts'
export { createFileFeed, type FileFeedOptions } from './files.ts'
export { createEventRing, type EventRing, type EventRingOptions } from './ring.ts'
