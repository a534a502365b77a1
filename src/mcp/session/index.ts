// The door of mcp/session: what other folders use of it.

export { boundedFetch } from './bounded-fetch.ts'
export type { Listed } from './listing.ts'
export { openServerSession, type ServerSession, type ServerSessionOptions } from './session.ts'
export type { StdioLimits } from './stdio.ts'
