// The door of agent: what other folders use of it. Users have src/entries/agent.ts.
export type { Access } from './accesses.ts'
export { isWithin } from './accesses.ts'
export { createAgent } from './agent.ts'
export { createChannel } from './channel.ts'
export type { DiffLine, FileChange } from './diff.ts'
export { type AgentMeter, type AgentMeterOptions, createAgentMeter } from './meter.ts'
export {
  createPermissions,
  type PermissionAnswer,
  type PermissionQuestion,
  type PermissionRule,
  type Permissions,
  type PermissionsOptions,
  type RuleEffect,
  type RuleScope,
} from './permissions/index.ts'
export { isPreload, preloadedIn } from './preload.ts'
export * from './skills/index.ts'
export { agentTool, type Shared } from './sub-agent.ts'
export { builtInTools, kinds } from './tools/index.ts'
export {
  type Entry,
  mendTranscript,
  openTranscript,
  readEntries,
  readTranscript,
  type Saved,
  type Transcript,
} from './transcript.ts'
export type {
  Agent,
  AgentEvent,
  AgentOptions,
  AgentTool,
  Client,
  EndReason,
  HistoryChange,
  Input,
  Permission,
  PermissionRequest,
  Runner,
  Sent,
  ToolContext,
  Usage,
  Verdict,
} from './types.ts'
export { addUsage, noUsage } from './usage.ts'
export { createUsing, type Using, type UsingOptions } from './using/index.ts'
