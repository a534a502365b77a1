// Exports of cli/user-files for other folders: sessions, permission rules and learned searches in the user’s folder.
export { forgetLearnedSearches, learnedFile, learnedUses, openLearnedSearch } from './learned-file.ts'
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
