// Public API of scan for other folders.

export { type Finding, type SuspicionKind, scan, scanServer, scanText } from './scan.ts'
