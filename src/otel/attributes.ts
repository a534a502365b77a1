// Attributes of spans and metrics by the semantic conventions for generative AI and MCP; our own begin with `toolshelf.`.
import type { Attributes } from '@opentelemetry/api'
import type { BilledTokens } from '../core/figures/index.ts'
import type { Trace } from '../core/index.ts'

export type ResultEvent = Extract<Trace, { type: 'result' }>
export type SampledEvent = Extract<Trace, { type: 'sampled' }>

/** All input tokens of a sampling; the conventions count cached ones, too. */
export function inputTokens({ input, cacheRead, cacheWrite, cacheWrite1h }: BilledTokens): number {
  return input + cacheRead + cacheWrite + cacheWrite1h
}

/** The API's flavour: the conventions ask for who defined it, not for who runs the model. */
export function chatAttributes({ model, api }: SampledEvent): Attributes {
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': api === 'messages' ? 'anthropic' : 'openai',
    'gen_ai.request.model': model,
  }
}

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

/** Attributes of a call through the MCP gateway, or of one that the agent runs. */
export function toolAttributes({ name, server, outcome }: ResultEvent, isGateway: boolean): Attributes {
  return {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    ...(isGateway ? { 'mcp.method.name': 'tools/call' } : {}),
    ...(server === undefined ? {} : { 'toolshelf.server': server }),
    ...(outcome === 'done' ? {} : { 'error.type': ERROR_TYPES[outcome] }),
  }
}

/** `tool_error` is the conventions' word for a result that is an error. */
const ERROR_TYPES = {
  failed: 'tool_error',
  refused: 'toolshelf.refused',
  stopped: 'toolshelf.stopped',
} as const
