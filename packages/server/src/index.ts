// What our other packages use of @toolshelf/server.

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
