// Exports of mcp/cache for other folders.
export {
  type CachedServer,
  type DefinitionCache,
  defaultCacheFolder,
  type KeptList,
  type KeptLists,
  type ListKind,
  openDefinitionCache,
  openStoredDefinitions,
  readCachedServers,
  rememberReads,
} from './definition-cache.ts'
