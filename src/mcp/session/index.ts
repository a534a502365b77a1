// Exports of mcp/session for other folders.

export { boundedFetch } from './bounded-fetch.ts'
export { serverEnvironment } from './environment.ts'
export {
  type Listed,
  openServerSession,
  type ServerSession,
  type ServerSessionOptions,
} from './session.ts'
export { isSilence } from './silence.ts'
export type { StdioLimits } from './stdio.ts'
