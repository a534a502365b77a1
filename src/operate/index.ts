// Exports of operate for other folders: what both gateways need to be operated as services.

export {
  createMetricRegistry,
  type Labels,
  type MetricRegistry,
  meterStore,
  type ProcessMetrics,
  processSeries,
  requestSeries,
  type Sample,
  type SeriesTable,
  storeSeries,
  watchProcess,
} from './metrics.ts'
export {
  createHttpServer,
  createReadiness,
  createReloads,
  createStoreCheck,
  openTlsFiles,
  type Readiness,
  type ReadinessCheck,
  type ReadinessReport,
  type Reloads,
  type StoreCheckOptions,
  type TlsFiles,
  type TlsSource,
} from './service.ts'
