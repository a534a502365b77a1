// Exports of messages/wire for other folders.

export {
  callToolDefinition,
  failedText,
  fromCallTool,
  loadedText,
  lower,
  newerFields,
  plainTool,
  removedText,
  systemReminder,
  throughCallTool,
  withDirectives,
  withEverythingLoaded,
  withRemarksInside,
} from './lower.ts'
