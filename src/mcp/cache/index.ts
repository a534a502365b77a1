// Exports of mcp/cache for other folders.
export {
  type CachedServer,
  type DefinitionCache,
  defaultCacheFolder,
  type KeptList,
  type KeptLists,
  type ListKind,
  openDefinitionCache,
  readCachedServers,
  rememberReads,
} from './definition-cache.ts'
export { openStoredDefinitions } from './stored-definitions.ts'
