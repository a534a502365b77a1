// The door of core/tools: what other folders use of it.

export { cleanTexts } from './clean-definition.ts'
export { fitTools } from './fit.ts'
export { clashName, mcpName } from './names.ts'
export { applyPolicy, codingAgentPolicy, oddMark, partitionTools, type ToolPolicy } from './policy.ts'
export { buildPool, checkTool, type PoolOptions, readAhead, serverOf } from './pool.ts'
export { withOwnNames } from './property-names.ts'
