// Exports of core/results for other folders.

export {
  aboutShelved,
  DEFAULT_BUDGET,
  idIn,
  pageSizeFor,
  previewOf,
  READ_TOOL,
  type ReadInput,
  type ResultKind,
  type ResultRecord,
  type ResultSettings,
  type ResultStore,
  readPart,
  readResultTool,
  readShelved,
  replacementFor,
  type ShelvedResult,
  shelveText,
  unknownHandle,
} from './results.ts'
