// Exports of operate for other folders: what both gateways need to be operated as services.

export { createHttpServer } from './http-server.ts'
export { meterStore } from './metered-store.ts'
export { type ProcessMetrics, processSeries, watchProcess } from './process-metrics.ts'
export { createReadiness, type Readiness, type ReadinessCheck, type ReadinessReport } from './readiness.ts'
export {
  createMetricRegistry,
  type Labels,
  type MetricRegistry,
  type Sample,
  type SeriesTable,
} from './registry.ts'
export { createReloads, type Reloads } from './reloads.ts'
export { requestSeries, storeSeries } from './series.ts'
export { createStoreCheck, type StoreCheckOptions } from './store-check.ts'
export { openTlsFiles, type TlsFiles, type TlsSource } from './tls-files.ts'
