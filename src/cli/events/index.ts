// Exports of cli/events for other folders: `--audit` and OpenTelemetry.
export { type Audit, createEventRedactor, openAudit } from './audit.ts'
export { type AuditSettings, auditIn, auditOption, auditOptions, eventFile } from './audit-options.ts'
export { isTelemetryOn, loadTelemetry } from './telemetry.ts'
