// Exports of agent/using for other folders.

export { relevantTools } from './relevant-tools.ts'
export type { LearnedTool, ServerLike, ToolUseHelp, ToolUseHelpOptions } from './types.ts'
export { createToolUseHelp, type ToolUseHelpParts } from './using.ts'
