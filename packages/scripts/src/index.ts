// RunScript: the sandbox that runs a script of the model, and the tool around it, as the gateway and the agent offer it.

export { createScriptRunner, type ScriptRunner } from './runner.ts'
export { remarkAbout, runScriptTool, SCRIPT_TOOL, toolAt, valueOfText } from './script-tool.ts'
export type { CallForScript, ScriptLimits } from './types.ts'
