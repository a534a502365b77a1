// Exports of messages/wire for other folders.

export { callToolDefinition, fromCallTool, throughCallTool } from './call-tool.ts'
export { withDirectives } from './directives.ts'
export { lower, withEverythingLoaded } from './lower.ts'
export { failedText, loadedText, removedText, systemReminder } from './notes.ts'
export { newerFields, plainTool } from './plain-tool.ts'
export { withRemarksInside } from './remarks.ts'
