// Exports of mcp/config for other folders.
export {
  type ConfigText,
  definitionOf,
  type FileEntries,
  type LoadedConfig,
  programOf,
  readConfig,
  readEntries,
} from './config.ts'
export { describeTransport, pathArgument } from './describe.ts'
export { type NewEntry, onOneLine } from './edit-json.ts'

export { mapTexts, type ServerEntry, withReferences } from './formats.ts'
export { DEPTH, depthOf } from './gateway-depth.ts'
export type { GatewaySettings } from './keys.ts'
export { type MovedPart, moveServers, restoreServers } from './move.ts'
export {
  type ConfigPlace,
  configPlaces,
  existingFiles,
  type LocalMachine,
  ownConfigFile,
  projectConfigFiles,
  thisMachine,
  userConfigFiles,
} from './places.ts'
export { bindWorkspace, expand, variablesIn, withWorkspace } from './references.ts'
export { idleRules, isAllowed } from './rules.ts'
export { configProblems, keepReferences, readServer } from './server.ts'
export { setJsonValue } from './set-json.ts'
export { nameServers } from './slugs.ts'
export { fillUserValues, userValuesIn } from './user-values.ts'
export { addServers, removeServer, serverNames } from './write.ts'
