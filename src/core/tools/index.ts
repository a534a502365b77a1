// Exports of core/tools for other folders.

export { compactDefinition } from './compact.ts'
export { cleanTexts, withOwnNames } from './definition.ts'
export { fitTools } from './fit.ts'
export { listedNames, mcpName, serverOfName, slugsOf } from './names.ts'
export {
  applyPolicy,
  codingAgentPolicy,
  oddMark,
  partitionTools,
  type ToolPolicy,
  undefer,
} from './policy.ts'
export { buildPool, checkTool, type PoolOptions, readAhead, serverOf } from './pool.ts'
