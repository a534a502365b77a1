// Exports of connect for other folders.
export {
  type ApplyPlan,
  type ClientChange,
  planApply,
  type Snapshot,
  takeSnapshot,
  type UnmovedServer,
} from './apply.ts'
export { clientEntries } from './client-entry.ts'
export { ChangedMeanwhile, commitWrites, putBack, readCurrent, type WriteOutcome } from './commit.ts'
export {
  type ApplyRecord,
  contentHash,
  type FileWrite,
  type Journal,
  openJournal,
  type RecordedFile,
} from './journal.ts'
export { deleteLeftovers } from './leftovers.ts'
export {
  type ConnectPlace,
  type ConnectPlan,
  type ConnectPurpose,
  type ImportState,
  isReportable,
  type PlannedServer,
  planConnect,
} from './plan.ts'
export { planUndo, type UndoPlan } from './undo.ts'
