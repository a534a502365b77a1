// Public API of scan for other folders.

export { scan, scanText, type TextFinding } from './scan.ts'
export {} from './suspicion.ts'
