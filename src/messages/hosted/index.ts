// The door of messages/hosted: what other folders use of it.

export { startHosted } from './hosted-search.ts'
export { type HostedRankers, plainSearchTool, type Variant, variantOf } from './tools.ts'
