// The door of mcp/cache: what other folders use of it.
export {
  type CachedServer,
  type DefinitionCache,
  defaultCacheFolder,
  type KeptList,
  type KeptLists,
  type ListKind,
  openDefinitionCache,
  recallServers,
  rememberReads,
} from './definition-cache.ts'
