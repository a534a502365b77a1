// Exports of node/results for other folders.

export {
  createDiskResults,
  createMemoryResults,
  digestOf,
  type ResultOptions,
  resultSettings,
} from './stores.ts'
