// Exports of mcp/replicas for other folders.
export type { LocalSession, SessionLink } from './live-session.ts'
export { createRemoteCalls, RemoteCallError, type RemoteCalls } from './remote-calls.ts'
export { createReplica, isReplicaId, type Replica, type ReplicaOptions } from './replica.ts'
export { createSessionLinks, type SessionLinks } from './session-links.ts'
export { initializeParams, type SessionState } from './session-record.ts'
export type { SharedSession } from './shared-session.ts'
