// Exports of inspector/server for other folders.
export { createInspector, type Inspector } from './handler.ts'
export { loadPage } from './page.ts'
export type { InspectedServers, InspectorOptions, PageFiles, ShownServer } from './types.ts'
export { serverViews, toolPieces } from './views.ts'
