// Exports of core/results for other folders.

export { idIn } from './handle.ts'
export { readShelved, shelveText } from './keep.ts'
export { previewOf } from './preview.ts'
export { type ReadInput, readPart } from './read.ts'
export { readResultTool } from './read-tool.ts'
export {
  aboutShelved,
  DEFAULT_BUDGET,
  pageSizeFor,
  READ_TOOL,
  type Replacement,
  replacementFor,
  unknownHandle,
} from './shelve.ts'
export type { ResultKind, ResultRecord, ResultSettings, ResultStore, ShelvedResult } from './types.ts'
