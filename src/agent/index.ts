// Exports of the agent for other folders. The public entry point is src/entries/agent.ts.

export { type DiffLine, type FileChange, fileChange } from '../lib/index.ts'
export { SCRIPT_TOOL, type ScriptLimits } from '../sandbox/index.ts'
export type { Access } from './accesses.ts'
export { isWithin } from './accesses.ts'
export { createAgent } from './agent.ts'
export { createChannel } from './channel.ts'
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
export { isPreload, namedTools, preloadedIn } from './preload.ts'
export * from './skills/index.ts'
export { createAgentTool, type SubAgentOptions } from './sub-agent.ts'
export {
  builtInCallKinds,
  createBatchTool,
  createBuiltInTools,
  createScriptTool,
  type ScriptToolOptions,
} from './tools/index.ts'
export {
  mendTranscript,
  openTranscript,
  readTranscript,
  readTranscriptEntries,
  type SavedConversation,
  type Transcript,
  type TranscriptEntry,
} from './transcript.ts'
export type {
  Agent,
  AgentEvent,
  AgentOptions,
  AgentTool,
  EndReason,
  HistoryChange,
  InnerCallOptions,
  MessagesClient,
  PermissionCheck,
  PermissionRequest,
  PermissionVerdict,
  ScriptPlan,
  SentRequest,
  TokenUsage,
  ToolContext,
  ToolInput,
  ToolRunner,
} from './types.ts'
export { addUsage, noUsage } from './usage.ts'
