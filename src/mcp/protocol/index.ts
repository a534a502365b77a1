// Exports of mcp/protocol for other folders.

export { CallError, failureMessage, isAnswer, isUndelivered } from './call-error.ts'
export { type ClientCall, callContext, currentCall } from './current-call.ts'
export { lastLinesWithError } from './error-line.ts'
export { isReservedKey, passableMeta, withPassableMeta } from './meta.ts'
export { headerFault } from './param-headers.ts'
export {
  type ConnectionFailure,
  connectionFailure,
  type LoginHint,
  missingRights,
  ourFailure,
  PROCESS_ENDED_PREFIX,
  withErrorLine,
} from './reasons.ts'
export { SessionError } from './session-error.ts'
export { isForModel, isForPages } from './visibility.ts'
