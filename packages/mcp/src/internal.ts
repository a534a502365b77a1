// What our other packages use of @toolshelf/mcp, besides its public door. It may change with every version.

export {
  type DefinitionCache,
  defaultCacheFolder,
  openDefinitionCache,
  openStoredDefinitions,
  readCachedServers,
  rememberReads,
} from './cache/definition-cache.ts'
export { type ConfigText, type FileEntries, programOf, readEntries } from './config/config.ts'
export {
  addServers,
  currentPart,
  type MovedPart,
  moveServers,
  type NewEntry,
  onOneLine,
  removeServer,
  restoreServers,
  serverNames,
  setJsonValue,
} from './config/edit.ts'
export { mapTexts, type ServerEntry, withReferences } from './config/formats.ts'
export { depthOf } from './config/gateway-depth.ts'
export type { GatewaySettings } from './config/keys.ts'
export {
  type ConfigPlace,
  configPlaces,
  existingFiles,
  type LocalMachine,
  ownConfigFile,
  projectConfigFiles,
  thisMachine,
} from './config/places.ts'
export { bindWorkspace, expand, variablesIn, withWorkspace } from './config/references.ts'
export { idleRules } from './config/rules.ts'
export {
  configProblems,
  describeTransport,
  keepReferences,
  pathArgument,
  readServer,
} from './config/server.ts'
export type { GatewayResults } from './gateway/shelved-results.ts'
export {
  answerInitialize,
  gatewayCallTool,
  gatewaySearchTool,
  greetingFor,
  type InitializeRequest,
  joinInstructions,
  type ListingMode,
  type OwnTool,
  PAGES,
} from './greeting/greeting.ts'
export { traceServers } from './host/host-events.ts'
export { refuseMarks, toShelvedTool } from './host/publisher.ts'
export {
  type DefinitionChange,
  defaultPinsFolder,
  type PinnedServer,
  type Pins,
  pinnedParts,
} from './pins/pins.ts'
export { watchPins } from './pins/places.ts'
export { lastLinesWithError } from './protocol/protocol.ts'
export { createTextRedactor, isSecretName } from './redact.ts'
export type { ConfigProblem, KnownServer, ListedTool, ServerState, ToolProblem } from './types.ts'
