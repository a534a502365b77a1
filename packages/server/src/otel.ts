// For processes that report by OpenTelemetry; loaded on request, because its packages are many.

export { openTelemetry, type Telemetry, type TelemetryOptions } from './otel/telemetry.ts'
