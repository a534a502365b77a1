// Builds attributes of spans and metrics by the semantic conventions for generative AI and MCP; Toolshelf's own begin
// with `toolshelf.`.
import type { Attributes } from '@opentelemetry/api'
import type { BilledTokens } from '../core/figures/index.ts'
import type { Trace } from '../core/index.ts'

/** The event of a finished tool call. */
export type ResultEvent = Extract<Trace, { type: 'result' }>
/** The event of a finished model response. */
export type SampledEvent = Extract<Trace, { type: 'sampled' }>

/** Returns all input tokens of a model response, including cached ones, as the conventions ask. */
export function inputTokens({ input, cacheRead, cacheWrite, cacheWrite1h }: BilledTokens): number {
  return input + cacheRead + cacheWrite + cacheWrite1h
}

/**
 * Returns the attributes of a model request. The provider is the one that defined the API, not the one that runs the
 * model.
 */
export function chatAttributes({ model, api }: SampledEvent): Attributes {
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': api === 'messages' ? 'anthropic' : 'openai',
    'gen_ai.request.model': model,
  }
}

/** Returns the attributes of a response's token usage. */
export function usageAttributes({ usage, stopReason }: SampledEvent): Attributes {
  return {
    ...(stopReason === undefined ? {} : { 'gen_ai.response.finish_reasons': [stopReason] }),
    ...(usage && {
      'gen_ai.usage.input_tokens': inputTokens(usage),
      'gen_ai.usage.output_tokens': usage.output,
      'gen_ai.usage.cache_read.input_tokens': usage.cacheRead,
      'gen_ai.usage.cache_creation.input_tokens': usage.cacheWrite + usage.cacheWrite1h,
    }),
  }
}

/** Returns the attributes of a call through the MCP gateway, or of one that the agent runs. */
export function toolAttributes({ name, server, outcome }: ResultEvent, isGateway: boolean): Attributes {
  return {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    ...(isGateway ? { 'mcp.method.name': 'tools/call' } : {}),
    ...(server === undefined ? {} : { 'toolshelf.server': server }),
    ...(outcome === 'done' ? {} : { 'error.type': ERROR_TYPES[outcome] }),
  }
}

/** Error types by outcome; `tool_error` is the conventions' word for a result that is an error. */
const ERROR_TYPES = {
  failed: 'tool_error',
  refused: 'toolshelf.refused',
  stopped: 'toolshelf.stopped',
} as const
