// The door of doctor: what other folders use of it.
export { htmlView } from './html.ts'
export { arrivalLine, progressLine } from './progress.ts'
export { makeReport, type Report, type UntrustedServer } from './report.ts'
export { terminalView } from './terminal.ts'
