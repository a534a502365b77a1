// The door of messages/hosted: what other folders use of it.

export { startHosted } from './searching.ts'
export { type HostedRankers, plainSearchTool, type Variant, variantOf } from './tools.ts'
