// The door of mcp/session: what other folders use of it.

export { boundedFetch } from './bounded-fetch.ts'
export type { Listed } from './listing.ts'
export { type Fields, openSession, type Session, type SessionOptions } from './session.ts'
export type { StdioLimits } from './stdio.ts'
