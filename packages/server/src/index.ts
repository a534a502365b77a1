// What every HTTP server of ours needs, whoever its users are: network, bodies, readiness, TLS files, metrics of the process.
// Users, tokens, the store and telemetry have doors of their own.

export { checkKeyLength, createHostAccess, hostNameOf } from './http/access.ts'
export { createClientNetwork } from './http/client-network.ts'
export {
  answerNode,
  authorizationOf,
  close,
  closeGently,
  INSPECTOR_PATH,
  type InspectorHandler,
  isForInspector,
  LOOPBACK,
  listen,
  waitForDrain,
} from './http/http.ts'
export { type Bodies, createBodies } from './http/json-bodies.ts'
export { meterStore, type ProcessMetrics, watchProcess } from './operate/metrics.ts'
export {
  createHttpServer,
  createReadiness,
  createReloads,
  createStoreCheck,
  openTlsFiles,
  type Readiness,
  type ReadinessCheck,
  type TlsFiles,
} from './operate/service.ts'
