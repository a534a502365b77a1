// Public API of the sandbox for other folders.

export { createScriptRunner, type ScriptRunner, type ScriptRunnerOptions } from './runner.ts'
export { remarkAbout, runScriptTool, SCRIPT_TOOL, toolAt, valueOfText } from './script-tool.ts'
export {
  type CallForScript,
  type ScriptCall,
  type ScriptCallContext,
  type ScriptLimits,
  type ScriptOutcome,
  scriptLimits,
} from './types.ts'
