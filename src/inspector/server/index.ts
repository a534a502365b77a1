// Exports of inspector/server for other folders.
export { createInspector, type Inspector } from './handler.ts'
export { loadPage } from './page.ts'
export { serverViews } from './server-views.ts'
export { toolPieces } from './tool-views.ts'
export type { InspectedServers, InspectorOptions, PageFiles, ShownServer } from './types.ts'
