// Exports of messages/hosted for other folders.

export { type HostedOptions, startHosted } from './hosted-search.ts'
export { type HostedRankers, plainSearchTool, type Variant, variantOf } from './tools.ts'
