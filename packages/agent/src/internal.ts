// What our other packages use of @toolshelf/agent, besides its public door. It may change with every version.

export { isWithin } from './accesses.ts'
export { createChannel } from './channel.ts'
export type { AgentMeter } from './meter.ts'
export type {
  PermissionAnswer,
  PermissionQuestion,
  PermissionsOptions,
  RuleEffect,
  RuleScope,
} from './permissions/permissions.ts'
export { parseRule, READ_ONLY, trustsAnnotations } from './permissions/rules.ts'
export { isPreload, preloadedIn } from './preload.ts'
export {
  parseSkillFiles,
  projectSkillFolders,
  readSkillFiles,
  readSkillText,
  type SkillFile,
  userSkillFolders,
} from './skills/load.ts'
export type { Skills } from './skills/skills.ts'
export { builtInCallKinds } from './tools/built-in.ts'
export {
  mendTranscript,
  readTranscript,
  readTranscriptEntries,
  type SavedConversation,
  type TranscriptEntry,
} from './transcript.ts'
export type { EndReason, ScriptPlan, TokenUsage } from './types.ts'
export { addUsage, noUsage } from './usage.ts'
