// What our other packages use of @toolshelf/scripts.

export { createScriptRunner, type ScriptRunner } from './runner.ts'
export { remarkAbout, runScriptTool, SCRIPT_TOOL, toolAt, valueOfText } from './script-tool.ts'
export type { CallForScript, ScriptLimits } from './types.ts'
