// Exports of agent/using for other folders.

export { relevantTools } from './relevant-tools.ts'
export type { LearnedPin, ServerLike, ToolUseHelp, ToolUseHelpOptions } from './types.ts'
export { createToolUseHelp, type ToolUseHelpParts } from './using.ts'
