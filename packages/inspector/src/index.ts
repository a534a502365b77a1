// The inspector: its server, and where its events come from. What it imports is loaded on demand.

export type { HintView } from './api.ts'
export { createFileFeed, type EventFeed } from './events/files.ts'
export { createEventRing } from './events/ring.ts'
export { createInspector, type Inspector } from './server/handler.ts'
export type { InspectedServer, InspectedServers, InspectorOptions, ToolHint } from './server/types.ts'
