// The door of scan: what other folders use of it.

export { type Finding, scan, scanText } from './scan.ts'
export {} from './suspicion.ts'
