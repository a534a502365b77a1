// The public surface of `toolshelf/agent`.
export { createAgent } from './agent.ts'
export * from './skills/index.ts'
export { agentTool, type Shared } from './sub-agent.ts'
export { builtInTools, kinds } from './tools/index.ts'
export { type Entry, openTranscript, readTranscript, type Saved, type Transcript } from './transcript.ts'
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
  Runner,
  Sent,
  ToolContext,
  Usage,
} from './types.ts'
export { createUsing, type Using, type UsingOptions } from './using/index.ts'
