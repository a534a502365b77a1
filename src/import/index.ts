// Exports of import for other folders.
export {
  type ApplyPlan,
  type ClientChange,
  planApply,
  type Snapshot,
  type Staying,
  takeSnapshot,
} from './apply.ts'
export { clientEntries } from './client-entry.ts'
export { ChangedMeanwhile, commitWrites, putBack, readCurrent, type Written } from './commit.ts'
export {
  type ApplyRecord,
  contentHash,
  type FileWrite,
  type Journal,
  openJournal,
  type RecordedFile,
} from './journal.ts'
export {
  compareWith,
  type ImportPlace,
  type ImportPlan,
  type ImportState,
  isNews,
  type PlannedServer,
  planImport,
} from './plan.ts'
export { type Undoing, undoingOf } from './undo.ts'
