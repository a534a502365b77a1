// Exports of doctor for other folders.
export { findingsOf } from './findings.ts'
export {
  makeReport,
  measureTools,
  type Report,
  type ReportOptions,
  shelfOf,
  type UntrustedServer,
} from './report.ts'
export { arrivalLine, progressLine, terminalView } from './terminal.ts'
