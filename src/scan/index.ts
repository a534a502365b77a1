// Public API of scan for other folders.

export { type Finding, scan, scanText } from './scan.ts'
export {} from './suspicion.ts'
