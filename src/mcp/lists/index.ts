// Exports of mcp/lists for other folders.
export { type Addresses, addressMeta, addressOutput, createAddresses, PAGE_KEYS } from './addresses.ts'
export { assertSendable } from './assert-sendable.ts'
export { alwaysLoaded, listedTool, versionOf } from './listed-tool.ts'
export { createPageTools, type PageTools } from './page-tools.ts'
export { createResourcesAndPrompts, type ResourcesAndPrompts } from './resources-and-prompts.ts'
export { visibleAddresses, visibleHost } from './visible-host.ts'
