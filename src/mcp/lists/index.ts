// Exports of mcp/lists for other folders.
export {
  type Addresses,
  addressMeta,
  addressOutput,
  alwaysLoaded,
  assertSendable,
  createAddresses,
  createPageTools,
  createResourcesAndPrompts,
  listedTool,
  PAGE_KEYS,
  type PageTools,
  type ResourcesAndPrompts,
  versionOf,
  visibleAddresses,
  visibleHost,
} from './lists.ts'
