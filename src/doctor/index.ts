// Exports of doctor for other folders.
export { findingsOf } from './findings.ts'
export { type Measured, measureTools, shelfOf } from './measure.ts'
export { arrivalLine, progressLine } from './progress.ts'
export { makeReport, type Report, type ReportOptions, type UntrustedServer } from './report.ts'
export { terminalView } from './terminal.ts'
