// The definitions of OpenAI's tools without a schema of their own, as models of other vendors need them.
import { type Fields, fieldsOf, textOf } from '@toolshelf/core/internal'
import { fromFreeform } from './freeform.ts'

/** Returns the description and schema of a tool that the client runs; undefined for functions and tools that OpenAI runs. */
export function clientToolDefinition(tool: Fields): Fields | undefined {
  switch (tool.type) {
    case 'custom':
      return fromFreeform(tool)
    case 'local_shell':
      return LOCAL_SHELL
    case 'shell':
      return isRemote(tool) ? undefined : SHELL
    case 'apply_patch':
      return APPLY_PATCH
    default:
      return undefined
  }
}

/** Whether the commands run in a container of OpenAI's. */
function isRemote({ environment }: Fields): boolean {
  return textOf(fieldsOf(environment).type).startsWith('container')
}

const TIMEOUT = { type: 'integer', description: 'Time limit in milliseconds.' }

const LOCAL_SHELL = {
  description: "Runs a command on the user's machine and returns its output.",
  input_schema: {
    type: 'object',
    properties: {
      command: {
        type: 'array',
        items: { type: 'string' },
        description: 'The program and its arguments, such as ["bash", "-lc", "ls -la"].',
      },
      working_directory: { type: 'string' },
      env: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'Environment variables.',
      },
      timeout_ms: TIMEOUT,
    },
    required: ['command'],
  },
}

const SHELL = {
  description: "Runs shell commands on the user's machine and returns the output and the exit code of each.",
  input_schema: {
    type: 'object',
    properties: {
      commands: {
        type: 'array',
        items: { type: 'string' },
        description: 'Shell commands, which may run at once.',
      },
      timeout_ms: TIMEOUT,
      max_output_length: { type: 'integer', description: 'The most characters of output to return.' },
    },
    required: ['commands'],
  },
}

const APPLY_PATCH = {
  description: [
    'Creates, changes or deletes one file by a patch.',
    'For update_file, `diff` has one or more hunks. A hunk starts with a line "@@", which may name the enclosing class or',
    'function; each further line starts with a space (context), "-" (removed) or "+" (added). Give three lines of context',
    'around a change. There are no line numbers.',
    'For create_file, every line of `diff` starts with "+". delete_file takes no diff.',
  ].join('\n'),
  input_schema: {
    type: 'object',
    properties: {
      type: { type: 'string', enum: ['create_file', 'update_file', 'delete_file'] },
      path: { type: 'string', description: 'The path of the file.' },
      diff: { type: 'string' },
    },
    required: ['type', 'path'],
  },
}
