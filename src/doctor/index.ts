// Public API of doctor for other folders.
export { htmlView } from './html.ts'
export { type Measured, measureTools } from './measure.ts'
export { arrivalLine, progressLine } from './progress.ts'
export { makeReport, type Report, type ReportOptions, type UntrustedServer } from './report.ts'
export { terminalView } from './terminal.ts'
