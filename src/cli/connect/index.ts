// Exports of cli/connect for other folders: the parts of `toolshelf connect`.
export { connectClients, journalFolder } from './apply.ts'

export {
  type ConnectTarget,
  hasOnlyBroken,
  isSetUp,
  lookedAt,
  makePlan,
  mendable,
  printPlan,
  readTarget,
} from './plan.ts'

export { undoConnect } from './undo.ts'
