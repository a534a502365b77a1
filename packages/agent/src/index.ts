// `@toolshelf/agent`: the agent loop, its tools, permissions, skills and transcripts.

export { createAgent } from './agent.ts'
export { createAgentMeter } from './meter.ts'
export { createPermissions, type PermissionRule, type Permissions } from './permissions/permissions.ts'
export { namedTools } from './preload.ts'
export { loadSkills, type Skill } from './skills/load.ts'
export { createSkills } from './skills/skills.ts'
export { createAgentTool } from './sub-agent.ts'
export { createBuiltInTools } from './tools/built-in.ts'
export { createBatchTool, createScriptTool } from './tools/programs.ts'
export { openTranscript } from './transcript.ts'
export type {
  Agent,
  AgentEvent,
  AgentOptions,
  AgentTool,
  MessagesClient,
  ToolContext,
  ToolRunner,
} from './types.ts'
