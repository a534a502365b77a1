// The agent's built-in tools. Rarely needed ones are deferred until the model searches for them.
import { resolve } from 'node:path'
import { type CallKind, describeReads, describeSearches } from '../../core/index.ts'
import { proxiedFetch } from '../../node/index.ts'
import type { AgentTool } from '../types.ts'
import { bashTool } from './bash.ts'
import { fetchTool } from './fetch.ts'
import { createFiles } from './files.ts'
import { globTool } from './glob.ts'
import { grepTool } from './grep.ts'
import { moveTool, removeTool } from './move-remove.ts'
import { readTool } from './read.ts'
import { editTool, writeTool } from './write.ts'

/** Options of `createBuiltInTools`. */
export type BuiltInOptions = {
  /** The folder in which commands run, and to which paths are relative. */
  readonly directory: string
  readonly fetch?: typeof fetch
  readonly environment?: NodeJS.ProcessEnv
}

/**
 * Creates the tools for files, commands and web pages. Each list tracks its own read files.
 *
 * @example
 * const agent = createAgent({ client, model, shelf, tools: createBuiltInTools({ directory: process.cwd() }) })
 */
export function createBuiltInTools(options: BuiltInOptions): AgentTool[] {
  const { fetch: get = proxiedFetch, environment = process.env } = options
  const directory = resolve(options.directory)
  const files = createFiles(directory)
  return [
    readTool(files),
    writeTool(files),
    editTool(files),
    globTool(files),
    grepTool(files),
    bashTool(directory, environment),
    fetchTool(get),
    moveTool(files),
    removeTool(files),
  ]
}

/** How each tool is shown to a person, for `presentMessages`. */
export const builtInCallKinds: { readonly [name: string]: CallKind } = {
  Read: describeReads,
  Grep: describeSearches,
  Glob: describeSearches,
}
export { shellPath } from './bash.ts'
export { createBatchTool } from './batch.ts'
export { createScriptTool, type ScriptToolOptions } from './script.ts'
export { globExpression } from './walk.ts'
