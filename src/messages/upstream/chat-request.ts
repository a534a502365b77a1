// Converts a Messages request to a Chat Completions request with few fields, since many servers refuse unknown ones.
// Fields that grow from turn to turn come last, for the prompt cache: tools, then messages.
import { type Fields, fieldsOf, hash, listOf, textOf } from '../../lib/index.ts'
import type { ClientTerms, MessagesRequest } from '../types.ts'
import { plainTool } from '../wire/index.ts'
import { toMessages } from './chat-messages.ts'
import type { Dialect } from './dialects.ts'
import { type Names, namesOf } from './openai.ts'
import { fitSettings } from './settings.ts'
import type { Thoughts } from './thoughts.ts'

/** Returns why the request needs tools that only Anthropic's API can run; undefined if it does not. */
export function hostedToolFault({ tools }: MessagesRequest): string | undefined {
  const kinds = listOf(tools).map((tool) => fieldsOf(tool).type ?? 'custom')
  const index = kinds.findIndex((kind) => kind !== 'custom')
  if (index < 0) return undefined
  const name = `tools.${index}: \`${kinds[index]}\``
  return `${name} is run by Anthropic's API, and this upstream speaks Chat Completions. Leave it out of \`tools\`, or use an upstream that speaks the Messages API.`
}

/** Converts a request. */
export function toChatRequest(
  request: MessagesRequest,
  dialect: Dialect,
  thoughts: Thoughts,
  terms?: ClientTerms,
): Fields {
  const names = namesOf(request.tools)
  const tools = listOf(request.tools).map((tool) => toTool(fieldsOf(tool), names))
  return {
    model: request.model,
    // A client that speaks Chat Completions itself knows best what its server takes.
    ...(terms?.api === 'chat' ? terms.settings : settingsOf(request, dialect)),
    ...(request.stream === true ? { stream: true, stream_options: { include_usage: true } } : {}),
    ...(tools.length > 0 ? { ...toToolChoice(fieldsOf(request.tool_choice), names), tools } : {}),
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

function toTool(tool: Fields, names: Names): Fields {
  const { name, description, input_schema } = plainTool(tool)
  // OpenAI refuses an object schema without `properties`.
  const parameters = { type: 'object', properties: {}, ...fieldsOf(input_schema) }
  return { type: 'function', function: { name: names.short(textOf(name)), description, parameters } }
}

function toToolChoice({ type, name, disable_parallel_tool_use }: Fields, names: Names): Fields {
  const choices: Fields = {
    any: 'required',
    none: 'none',
    tool: { type: 'function', function: { name: names.short(textOf(name)) } },
  }
  return {
    tool_choice: choices[textOf(type)],
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
