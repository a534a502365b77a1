// Public API of scan for other folders.

export { type Finding, type SuspicionKind, scan, scanText } from './scan.ts'
