// What our other packages use of @toolshelf/server.

export { openTelemetry, type Telemetry, type TelemetryOptions } from './otel/telemetry.ts'
