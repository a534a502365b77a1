// Exports of inspector for other folders.
export {
  type About,
  type EventLine,
  type ExportInput,
  type ExportView,
  endpoints,
  type HintInput,
  type HintView,
  KEY_PARAMETER,
  type PinInput,
  type RankedHit,
  type RankingView,
  type SearchInput,
  type SearchView,
  type ServerActionInput,
  type ServerView,
  type ToolView,
} from './api.ts'
export {
  createInspector,
  type InspectedServers,
  type Inspector,
  type InspectorOptions,
  loadPage,
  type PageFiles,
  type ShownServer,
} from './server/index.ts'
