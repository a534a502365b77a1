// Exports of scan for other folders.

export { type SuspicionKind, scan, scanServer, scanText, type TextFinding } from './scan.ts'
