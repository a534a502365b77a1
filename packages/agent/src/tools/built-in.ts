// The agent's built-in tools. Rarely needed ones are deferred until the model searches for them.
import { resolve } from 'node:path'
import { type CallKind, describeReads, describeSearches } from '@toolshelf/core/internal'
import { proxiedFetch } from '@toolshelf/core/internal/node'
import type { AgentTool } from '../types.ts'
import { createFiles, editTool, moveTool, readTool, removeTool, writeTool } from './files.ts'
import { bashTool, fetchTool } from './programs.ts'
import { globTool, grepTool } from './search.ts'

type BuiltInOptions = {
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
