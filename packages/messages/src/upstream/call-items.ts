// The kinds of tools that OpenAI's Responses API calls by items of their own, and how those items correspond to calls
// with JSON input. Both sides of the gateway use this table.
import { type Fields, fieldsOf, isFields, listOf, textOf, toJson } from '@toolshelf/core/internal'
import { jsonOf } from './openai.ts'

/** How the calls of one type of tool are written. */
export type CallItems = {
  /** The `type` of a call's item; its output has the same with `_output`. */
  readonly type: string
  readonly idPrefix: string
  readonly toInput: (item: Fields) => Fields
  readonly fromInput: (input: Fields) => Fields
  /** The content of a result; an item can have its output as text or as a list of parts. */
  readonly toResult: (item: Fields) => { readonly content: unknown; readonly isError?: boolean }
  /** The fields of an output item for the text of a result. */
  readonly fromResult: (text: string, isError: boolean) => Fields
}

/** A freeform tool's only field inside the gateway. */
const TEXT = 'input'

const custom: CallItems = {
  type: 'custom_tool_call',
  idPrefix: 'ctc_',
  toInput: ({ input }) => ({ [TEXT]: textOf(input) }),
  fromInput: (input) => ({ input: typeof input[TEXT] === 'string' ? input[TEXT] : toJson(input) }),
  toResult: ({ output }) => ({ content: output }),
  fromResult: (text, isError) => ({ output: withError(text, isError) }),
}

const localShell: CallItems = {
  type: 'local_shell_call',
  idPrefix: 'lsh_',
  toInput({ action }) {
    const { type: _, ...input } = fieldsOf(action)
    return input
  },
  fromInput: (input) => ({
    action: { type: 'exec', env: {}, ...input, command: wordsOf(input.command) },
  }),
  toResult: ({ output }) => ({ content: output }),
  fromResult: (text, isError) => ({ output: withError(text, isError) }),
}

const shell: CallItems = {
  type: 'shell_call',
  idPrefix: 'sh_',
  toInput: ({ action }) => fieldsOf(action),
  fromInput: (input) => ({
    action: { max_output_length: null, timeout_ms: null, ...input, commands: wordsOf(input.commands) },
    environment: { type: 'local' },
  }),
  // The output has parts without a counterpart, such as the exit code, so the model sees it as JSON.
  toResult: ({ output }) => ({ content: typeof output === 'string' ? output : toJson(output ?? []) }),
  fromResult(text, isError) {
    const output = jsonOf(text)
    if (Array.isArray(output) && output.every(isFields)) return { output }
    const outcome = { type: 'exit', exit_code: isError ? 1 : 0 }
    return { output: [{ stdout: isError ? '' : text, stderr: isError ? text : '', outcome }] }
  },
}

const applyPatch: CallItems = {
  type: 'apply_patch_call',
  idPrefix: 'apc_',
  toInput: ({ operation }) => fieldsOf(operation),
  fromInput: (input) => ({ operation: input }),
  toResult: ({ output, status }) => ({
    content: textOf(output) || (status === 'failed' ? 'The patch could not be applied.' : 'Done.'),
    isError: status === 'failed',
  }),
  fromResult: (text, isError) => ({ status: isError ? 'failed' : 'completed', output: text }),
}

const BY_TOOL: ReadonlyMap<string, CallItems> = new Map([
  ['custom', custom],
  ['local_shell', localShell],
  ['shell', shell],
  ['apply_patch', applyPatch],
])

const BY_ITEM: ReadonlyMap<string, CallItems> = new Map(
  [...BY_TOOL.values()].map((items) => [items.type, items]),
)

/** Returns the items of a type of tool; undefined for functions and for tools that OpenAI runs itself. */
export function callItemsOf(toolType: string): CallItems | undefined {
  return BY_TOOL.get(toolType)
}

/** Returns the kind of a call by its item's type, or by that of its output. */
export function callItemsIn(itemType: string): CallItems | undefined {
  return BY_ITEM.get(itemType.replace(/_output$/, ''))
}

export function toolTypeOf(items: CallItems): string {
  return [...BY_TOOL].find(([, one]) => one === items)?.[0] ?? ''
}

function withError(text: string, isError: boolean): string {
  return isError ? `Error:\n${text}` : text
}

/** A list of words; models sometimes write one text. */
function wordsOf(value: unknown): unknown {
  return typeof value === 'string' ? [value] : listOf(value)
}
