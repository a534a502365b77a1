// `toolshelf/agent`: the agent loop, its tools, permissions, skills and transcripts.

export { createAgent } from '../agent/agent.ts'
export { createAgentMeter } from '../agent/meter.ts'
export { createPermissions, type PermissionRule, type Permissions } from '../agent/permissions/permissions.ts'
export { namedTools } from '../agent/preload.ts'
export { loadSkills, type Skill } from '../agent/skills/load.ts'
export { createSkills } from '../agent/skills/skills.ts'
export { createAgentTool } from '../agent/sub-agent.ts'
export { createBuiltInTools } from '../agent/tools/built-in.ts'
export { createBatchTool, createScriptTool } from '../agent/tools/programs.ts'
export { openTranscript } from '../agent/transcript.ts'
export type {
  Agent,
  AgentEvent,
  AgentOptions,
  AgentTool,
  MessagesClient,
  ToolContext,
  ToolRunner,
} from '../agent/types.ts'
