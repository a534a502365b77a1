// Exports of inspector/events for other folders.
export type { EventBatch, EventFeed, ReadEventsOptions } from './feed.ts'
export { createFileFeed, type FileFeedOptions } from './files.ts'
export { createEventRing, type EventRing, type EventRingOptions } from './ring.ts'
