// Exports of cli/import for other folders: the parts of `toolshelf import`.
export { applyImport, journalFolder } from './apply.ts'

export {
  hasOnlyBroken,
  type ImportTarget,
  isSetUp,
  lookedAt,
  makePlan,
  mendable,
  printImportPlan,
  readTarget,
} from './plan.ts'

export { undoImport } from './undo.ts'
