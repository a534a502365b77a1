// Fits the settings of a request to a model: what the model does not take is left out, or becomes the nearest that it
// takes. Each upstream writes the result in the words of its API.
import { type Fields, fieldsOf, textOf } from '@toolshelf/core/internal'
import type { MessagesRequest } from '../types.ts'
import { type Dialect, dialectOf, messagesDialect } from './dialects.ts'
import { asksForThinking } from './thoughts.ts'

/** Settings that a model takes; those that are undefined are not sent. */
type FittedSettings = {
  readonly maxTokens: unknown
  readonly temperature: unknown
  readonly topP: unknown
  /** In the words of the model. */
  readonly effort: string | undefined
  /** Whether to ask for thinking or to switch it off; undefined if the model decides. */
  readonly thinks: boolean | undefined
}

export function fitSettings(request: MessagesRequest, dialect: Dialect): FittedSettings {
  const { efforts, noEffort, temperature: when, takesBothSamplings } = dialect
  const isOff = fieldsOf(request.thinking).type === 'disabled'
  const thinks = isOff
    ? switchedOff(dialect)
    : asksForThinking(request)
      ? switchedOn(request, dialect)
      : undefined
  const effort = isOff ? noEffort : efforts?.[effortOf(request)]
  const isUnthinking = isOff || (thinks !== true && effort === undefined)
  const samples =
    when === 'always' || (when === 'if unthinking' && isUnthinking) || (when === 'if switched off' && isOff)
  const { temperature, top_p }: Fields = samples ? request : {}
  return {
    maxTokens: limited(request.max_tokens, dialect.maxOutput),
    temperature,
    topP: takesBothSamplings || temperature === undefined ? top_p : undefined,
    effort,
    thinks,
  }
}

/** A model that thinks only if it is asked to needs no word; one that always thinks cannot be stopped. */
function switchedOff({ thinking }: Dialect): boolean | undefined {
  return thinking === undefined || thinking === 'by default' ? false : undefined
}

/** Claude takes no thinking beside a forced call, and older models only with a budget and their signed thoughts. */
function switchedOn({ tool_choice: choice }: MessagesRequest, { thinking }: Dialect): boolean | undefined {
  const isForced = ['any', 'tool'].includes(textOf(fieldsOf(choice).type))
  return thinking === 'never' || (thinking !== undefined && isForced) ? undefined : true
}

function limited(asked: unknown, limit: number | undefined): unknown {
  return typeof asked === 'number' && limit !== undefined ? Math.min(asked, limit) : asked
}

/** Thinking budgets in tokens from which the effort counts as medium and high. */
const MEDIUM_BUDGET = 4096
const HIGH_BUDGET = 16_384

/** Returns the requested effort, from its name or the thinking budget; empty if there is none. */
function effortOf({ output_config: config, thinking }: MessagesRequest): string {
  const { type, budget_tokens: budget } = fieldsOf(thinking)
  const effort = textOf(fieldsOf(config).effort)
  if (effort !== '' || type !== 'enabled' || typeof budget !== 'number') return effort
  return budget >= HIGH_BUDGET ? 'high' : budget >= MEDIUM_BUDGET ? 'medium' : 'low'
}

/** The limit for a client that names none, which the Messages API does not allow. */
const DEFAULT_LIMIT = 32_000

/** Returns a request of a client of OpenAI's APIs with settings that a model behind the Messages API takes. */
export function withFittedSettings(request: MessagesRequest, url: URL): MessagesRequest {
  const dialect = dialectOf(url, request.model, messagesDialect)
  const { max_tokens, thinking, output_config, temperature: _, top_p: __, ...rest } = request
  const { temperature, topP, effort, thinks } = fitSettings(request, dialect)
  const config = given({ ...fieldsOf(output_config), effort: thinks === false ? undefined : effort })
  return {
    ...rest,
    max_tokens: limited(max_tokens ?? DEFAULT_LIMIT, dialect.maxOutput),
    ...given({
      temperature: typeof temperature === 'number' ? Math.min(1, Math.max(0, temperature)) : undefined,
      top_p: topP,
      thinking: thinks === undefined ? undefined : thinking,
      output_config: Object.keys(config).length > 0 ? config : undefined,
    }),
  }
}

function given(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
