// Exports of otel for other folders. Importing it loads the packages of OpenTelemetry.

export { openTelemetry, type Telemetry, type TelemetryOptions } from './telemetry.ts'
