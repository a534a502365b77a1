// Public API of the inspector for other folders.
export {
  type About,
  type CallView,
  type EventLine,
  type ExportView,
  endpoints,
  type HintView,
  KEY_PARAMETER,
  type PageSnapshot,
  type SearchView,
  type ServerView,
  SNAPSHOT_ELEMENT,
  type ToolView,
} from './api.ts'
export {
  createInspector,
  type InspectedServers,
  type Inspector,
  type InspectorOptions,
  loadPage,
  type PageFiles,
  renderSnapshot,
  type ShownServer,
  serverViews,
  toolViews,
} from './server/index.ts'
