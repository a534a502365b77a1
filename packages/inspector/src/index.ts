// What our other packages use of @toolshelf/inspector.

export { createFileFeed, type EventFeed } from './events/files.ts'
export { createEventRing } from './events/ring.ts'
export { createInspector, type Inspector } from './server/handler.ts'
export type { InspectedServers, InspectorOptions } from './server/types.ts'
