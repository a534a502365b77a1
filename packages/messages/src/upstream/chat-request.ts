// Converts a Messages request to a Chat Completions request with few fields, since many servers refuse unknown ones.
// Fields that grow from turn to turn come last, for the prompt cache: tools, then messages.
import { type Fields, fieldsOf, hash, listOf, textOf } from '@toolshelf/core/internal'
import type { ClientTerms, MessagesRequest } from '../types.ts'
import { plainTool } from '../wire/lower.ts'
import { toMessages } from './chat-messages.ts'
import type { Dialect } from './dialects.ts'
import { allowedTools, type Names, namesOf } from './openai.ts'
import { fitSettings } from './settings.ts'
import type { Thoughts } from './thoughts.ts'

export function toChatRequest(
  request: MessagesRequest,
  dialect: Dialect,
  thoughts: Thoughts,
  terms?: ClientTerms,
): Fields {
  const names = namesOf(request.tools)
  const native = terms?.api === 'chat' ? terms.tools : undefined
  const tools = listOf(request.tools).map((tool) => toTool(fieldsOf(tool), names, native))
  return {
    model: request.model,
    // A client that speaks Chat Completions itself knows best what its server takes.
    ...(terms?.api === 'chat' ? terms.settings : settingsOf(request, dialect)),
    ...(request.stream === true ? { stream: true, stream_options: { include_usage: true } } : {}),
    ...(tools.length > 0 ? { ...toToolChoice(request, names, terms), tools } : {}),
    messages: toMessages(request, { ...dialect, names, thoughts }),
  }
}

function settingsOf(request: MessagesRequest, dialect: Dialect): Fields {
  const stop = listOf(request.stop_sequences)
  const { maxTokens, temperature, topP, effort, thinks } = fitSettings(request, dialect)
  return {
    [dialect.limit]: maxTokens,
    temperature,
    top_p: topP,
    ...(stop.length > 0 ? { stop } : {}),
    ...(dialect.takesThinking && thinks !== undefined
      ? { thinking: { type: thinks ? 'enabled' : 'disabled' } }
      : {}),
    reasoning_effort: effort,
    response_format: formatOf(request),
    user: userOf(request.metadata),
  }
}

/** A client that defined the function in this API keeps fields that only it has, such as `strict`. */
function toTool(tool: Fields, names: Names, native: ClientTerms['tools'] | undefined): Fields {
  const { name, description, input_schema } = plainTool(tool)
  const { function: called, defer_loading: _, ...own } = native?.get(textOf(name)) ?? {}
  const { defer_loading: __, ...inner } = fieldsOf(called)
  // OpenAI refuses an object schema without `properties`.
  const parameters = { type: 'object', properties: {}, ...fieldsOf(input_schema) }
  const definition = { ...inner, name: names.short(textOf(name)), description, parameters }
  return { ...own, type: 'function', function: definition }
}

function toToolChoice(request: MessagesRequest, names: Names, terms: ClientTerms | undefined): Fields {
  const { type, name, disable_parallel_tool_use } = fieldsOf(request.tool_choice)
  const toFunction = (called: unknown) => ({
    type: 'function',
    function: { name: names.short(textOf(called)) },
  })
  const allowed = allowedTools(request, terms?.barred)
  const choices: Fields = {
    any: 'required',
    none: 'none',
    tool: toFunction(name),
  }
  return {
    tool_choice: allowed
      ? {
          type: 'allowed_tools',
          allowed_tools: { mode: allowed.mode, tools: allowed.tools.map((tool) => toFunction(tool.name)) },
        }
      : choices[textOf(type)],
    ...(disable_parallel_tool_use === true ? { parallel_tool_calls: false } : {}),
  }
}

function formatOf({ output_config, output_format }: MessagesRequest): Fields | undefined {
  const { type, schema } = fieldsOf(fieldsOf(output_config).format ?? output_format)
  return type === 'json_schema' ? { type, json_schema: { name: 'reply', schema } } : undefined
}

/** The user id, within the length and characters that servers accept. */
function userOf(metadata: unknown): string | undefined {
  const user = textOf(fieldsOf(metadata).user_id)
  if (user === '') return undefined
  return /^[\w-]{6,64}$/.test(user) ? user : `user_${hash(user)}`
}
