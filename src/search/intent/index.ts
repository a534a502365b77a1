// Exports of search/intent for other folders.
export { type Action, actionOfTool, actionOfVerb, isDestructive, nameMention } from './actions.ts'
export { deniedDeletion } from './denial.ts'
export { demoteDeprecated } from './deprecated.ts'
export { actionFit, type Intent, readIntent } from './intent.ts'
