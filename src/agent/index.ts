// The public surface of `toolshelf/agent`.
export { createAgent } from './agent.ts'
export { agentTool, type Shared } from './sub-agent.ts'
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
