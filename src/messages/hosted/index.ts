// Exports of messages/hosted for other folders.

export { type HostedRankers, plainSearchTool, startHosted, type Variant, variantOf } from './hosted-search.ts'
