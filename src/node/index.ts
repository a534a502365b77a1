// Exports of the Node helpers for other folders.

export { checkKeyLength, createHostAccess, type HostAccess, hostNameOf } from './access.ts'
export { type AuditFileOptions, openAuditFile } from './audit-file.ts'
export { auditLine } from './audit-line.ts'
export { readBoundedFile, readNamedText, UnreadableFile } from './bounded-file.ts'
export { type BufferPool, createBufferPool } from './buffer-pool.ts'
export { type ClientNetwork, createClientNetwork } from './client-network.ts'
export { lockFile } from './file-lock.ts'
export { freeBuffer } from './free-buffer.ts'
export {
  answerNode,
  authorizationOf,
  close,
  closeGently,
  INSPECTOR_PATH,
  type InspectorHandler,
  isForInspector,
  isSecret,
  LOOPBACK,
  listen,
  networkOf,
  waitForDrain,
} from './http.ts'
export { type Bodies, createBodies } from './json-bodies.ts'
export { type FileRights, isTemporaryFor, JsonFile, replaceFile } from './json-file.ts'
export { endOfJsonString, MAX_JSON_DEPTH, whyTooComplex } from './json-values.ts'
export { createLimiter, type Limiter } from './limiter.ts'
export { OptionError } from './option-error.ts'
export { proxiedFetch } from './proxied-fetch.ts'
export { nameProxy, proxyFor, proxyProblems } from './proxies.ts'
export { agentFor } from './proxy-agents.ts'
export { createScheduler, pauseIn, type Slice, turns, yieldIfOver } from './scheduler.ts'
export { createSlots } from './slots.ts'
export { startTimer } from './timer.ts'
export {
  type ChildSpan,
  createChildSpan,
  createTraceStream,
  type EventStamp,
  type TracedConversation,
  type TraceStream,
  traceIdOf,
  traceRecordOf,
} from './trace-stream.ts'
export { createWatchdog, spawnGuarded, watchdog } from './watchdog.ts'
export { seconds, TimeoutError, withTimeout } from './with-timeout.ts'
export { createYieldBySize } from './yield-by-size.ts'
