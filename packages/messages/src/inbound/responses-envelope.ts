// The response object of the Responses API: what a reply repeats of its request, its status, usage and error.
import { type Fields, fieldsOf, listOf, textOf } from '@toolshelf/core/internal'
import type { HttpAnswer } from '../types.ts'
import { toOpenaiError } from './openai-errors.ts'

/** The fields that say how a response ended. */
export type Ending = { readonly status: string; readonly [field: string]: unknown }

/** Returns the response object at its start; `usage` and the ending come later. */
export function responseHead(body: Fields, id: string, model: string, createdAt: number): Fields {
  const { reasoning, text } = body
  return {
    id,
    object: 'response',
    created_at: createdAt,
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    metadata: body.metadata ?? {},
    model,
    output: [],
    parallel_tool_calls: body.parallel_tool_calls !== false,
    previous_response_id: null,
    prompt_cache_key: body.prompt_cache_key ?? null,
    reasoning: { effort: null, summary: null, ...fieldsOf(reasoning) },
    safety_identifier: body.safety_identifier ?? null,
    service_tier: 'default',
    // Nothing is stored, whatever the client asks for.
    store: false,
    temperature: body.temperature ?? 1,
    text: { format: { type: 'text' }, ...fieldsOf(text) },
    tool_choice: body.tool_choice ?? 'auto',
    tools: [],
    top_logprobs: 0,
    top_p: body.top_p ?? 1,
    truncation: body.truncation ?? 'disabled',
    usage: null,
    user: body.user ?? null,
  }
}

/** Returns the long fields, which only the last event of a stream repeats. */
export function repeatedOnce({ instructions, tools }: Fields): Fields {
  return { instructions: instructions ?? null, tools: listOf(tools) }
}

/** Returns the status for a stop reason of the Messages API. A refusal in words is a complete answer. */
export function endingOf(stopReason: string, isRefused: boolean): Ending {
  const reason = isRefused ? undefined : INCOMPLETE.get(stopReason)
  if (reason === undefined) return { status: 'completed' }
  return { status: 'incomplete', incomplete_details: { reason } }
}

const INCOMPLETE: ReadonlyMap<string, string> = new Map([
  ['max_tokens', 'max_output_tokens'],
  ['model_context_window_exceeded', 'max_output_tokens'],
  // The searches used up all samplings of this reply; the client can continue from here.
  ['pause_turn', 'max_output_tokens'],
  ['refusal', 'content_filter'],
])

/** Returns the ending for an error response in the Messages envelope. */
export function failedEnding(answer: HttpAnswer): Ending {
  const { message, code } = toOpenaiError(answer)
  return { status: 'failed', error: { code: CODES[textOf(code)] ?? code ?? 'server_error', message } }
}

/** Codes that clients read in a failed response, where they differ from those in error responses. */
const CODES: { readonly [code: string]: string } = { server_overloaded: 'server_is_overloaded' }

/** Converts usage. OpenAI counts cached tokens as part of the input. */
export function toResponsesUsage(usage: Fields): Fields {
  const read = countOf(usage.cache_read_input_tokens)
  const written = countOf(usage.cache_creation_input_tokens)
  const input = countOf(usage.input_tokens) + read + written
  const output = countOf(usage.output_tokens)
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: read, cache_write_tokens: written },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  }
}

function countOf(value: unknown): number {
  return typeof value === 'number' && value > 0 ? Math.trunc(value) : 0
}
