// What our other packages use of the part of the core that needs Node. It may change with every version.

export { openAuditFile } from './node/audit-file.ts'
export { auditLine } from './node/audit-line.ts'
export { readBoundedBody, readBoundedFile, readNamedText } from './node/bounded-file.ts'
export { type BufferPool, createBufferPool } from './node/buffer-pool.ts'
export { freeBuffer } from './node/free-buffer.ts'
export { type FileRights, isTemporaryFor, JsonFile, replaceFile } from './node/json-file.ts'
export { endOfJsonString, MAX_JSON_DEPTH, whyTooComplex } from './node/json-values.ts'
export { createLimiter, type Limiter } from './node/limiter.ts'
export { proxiedFetch } from './node/proxied-fetch.ts'
export { nameProxy, proxyProblems } from './node/proxies.ts'
export { agentFor } from './node/proxy-agents.ts'
export { isSecret } from './node/secret.ts'
export { createSlots } from './node/slots.ts'
export {
  type ChildSpan,
  createChildSpan,
  createTraceStream,
  type EventStamp,
  type TraceStream,
  traceIdOf,
  traceRecordOf,
} from './node/trace-stream.ts'
export { spawnGuarded, watchdog } from './node/watchdog.ts'
export { withLock } from './node/with-lock.ts'
export { type ClientWork, createClientWork, LimitError, type StartedWork } from './node/work.ts'
export { createYieldBySize } from './node/yield-by-size.ts'
export { OptionError } from './option-error.ts'
export { whenIndexed } from './rankers/engine.ts'
export {
  EXPLAINED_RANKERS,
  explainHits,
  type FoundTools,
  findWithScores,
  type SearchExplanation,
  scorePartLabel,
  type Why,
} from './rankers/explained-search.ts'
export { digestOf, type ResultOptions, resultSettings } from './result-stores.ts'
export {
  createScheduler,
  pauseIn,
  type Slice,
  seconds,
  startTimer,
  turns,
  withTimeout,
  yieldIfOver,
} from './schedule.ts'
