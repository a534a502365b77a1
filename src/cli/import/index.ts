// Exports of cli/import for other folders: the parts of `toolshelf import`.
export { applyImport } from './apply.ts'
export { type ImportTarget, makePlan, mendable, readTarget, type StateOf, show } from './plan.ts'
export { undoImport } from './undo.ts'
