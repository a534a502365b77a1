// Exports of cli/user-files for other folders: sessions and permission rules in the user’s folder.
export {
  annotationTrust,
  MAX_RULE_BYTES,
  openUserRules,
  PROJECT_RULES,
  rulesIn,
  type UserRules,
} from './permission-file.ts'
export {
  dataFolder,
  findSession,
  newSessionFile,
  resultsFolder,
  resumeOptions,
  type SessionFile,
  sessionFiles,
  sessionsFolder,
  whereabouts,
} from './session-files.ts'
