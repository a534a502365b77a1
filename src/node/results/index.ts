// Exports of node/results for other folders.

export { createDiskResults, type DiskResultOptions } from './disk-results.ts'
export { createMemoryResults, type ResultLimits } from './memory-results.ts'
export { digestOf, type ResultOptions, resultSettings } from './settings.ts'
