// A table of how servers and models differ, what they accept and what they need back; and the settings of a request, fitted
// to its model: what it does not take is left out, or becomes the nearest that it takes.
import { type Fields, fieldsOf, textOf } from '@toolshelf/core/internal'
import type { MessagesRequest } from '../types.ts'
import { asksForThinking } from './thoughts.ts'

/** The capabilities and requirements of a server with a model. */
export type Dialect = {
  readonly limit: 'max_tokens' | 'max_completion_tokens'
  /** When it takes `temperature` and `top_p`; `if switched off`: where the client says that it must not think. */
  readonly temperature: 'always' | 'if unthinking' | 'if switched off' | 'never'
  /** Takes `temperature` and `top_p` in one request. */
  readonly takesBothSamplings: boolean
  /** Whether a system message may come anywhere; templates of many open models accept it only first. */
  readonly takesSystemAnywhere: boolean
  readonly takesFiles: boolean
  /** The value for each effort of the Messages API; undefined if the model has no effort levels. */
  readonly efforts: { readonly [effort: string]: string } | undefined
  /** The effort to send if the client disables thinking. */
  readonly noEffort: string | undefined
  /** When a model behind the Messages API thinks without a budget; undefined for other models. */
  readonly thinking: 'never' | 'if asked' | 'by default' | 'always' | undefined
  /** The longest reply in tokens, if it is known. */
  readonly maxOutput: number | undefined
  /** Accepts `thinking: { type }` like the Messages API. */
  readonly takesThinking: boolean
  /** A message with calls must include the `reasoning_content` it came with. */
  readonly wantsReasoning: boolean
  /** A call must include the `extra_content` it came with. */
  readonly wantsExtraContent: boolean
  /** The `extra_content` for a first call whose own is lost. */
  readonly extraContentOtherwise: { readonly [field: string]: unknown } | undefined
  /** The model reasons, and the Responses API returns its reasoning as encrypted items. */
  readonly encryptsReasoning: boolean
  readonly callIds: 'short' | 'nine'
  /** Refuses a user message directly after a tool result. */
  readonly wantsAssistantAfterTool: boolean
  /** Maximum tools per request. */
  readonly maxTools: number | undefined
  /** Searches tools that the client defers. */
  readonly searchesTools: boolean
}

const PLAIN: Dialect = {
  limit: 'max_tokens',
  temperature: 'always',
  takesBothSamplings: true,
  takesSystemAnywhere: false,
  takesFiles: false,
  efforts: undefined,
  noEffort: undefined,
  thinking: undefined,
  maxOutput: undefined,
  takesThinking: false,
  wantsReasoning: false,
  wantsExtraContent: false,
  extraContentOtherwise: undefined,
  encryptsReasoning: false,
  callIds: 'short',
  wantsAssistantAfterTool: false,
  maxTools: undefined,
  searchesTools: false,
}

type Row = {
  readonly name: string
  /** Matches the host name or the model name; if a row has both, either suffices. */
  readonly host?: RegExp
  readonly model?: RegExp
  readonly has: Partial<Dialect>
}

const THREE = { low: 'low', medium: 'medium', high: 'high', xhigh: 'high', max: 'high' }
const FIVE = { low: 'low', medium: 'medium', high: 'high', xhigh: 'xhigh', max: 'max' }

/** Google's documented placeholder for histories without signatures. */
const NO_SIGNATURE = { google: { thought_signature: 'skip_thought_signature_validator' } }

/** Matches models of Claude with one of these versions, however a host writes them: `claude-opus-4-7`, `claude-4.7-opus`. */
function claude(versions: string): RegExp {
  const family = '(?:opus|sonnet|haiku)'
  const number = `(?:${versions.replaceAll('.', '[-.]')})`
  return new RegExp(`claude-(?:${family}-${number}(?![-.]?\\d{1,2}(?!\\d))|${number}-${family})`)
}

/** All matching rows apply; later ones override earlier ones. */
const ROWS: readonly Row[] = [
  {
    name: 'Claude, as its newest models are',
    model: /claude/,
    has: {
      ...{ temperature: 'never', takesBothSamplings: false, thinking: 'always', maxOutput: 128_000 },
      ...{ efforts: FIVE, noEffort: 'low' },
    },
  },
  {
    name: 'Claude 5, where thinking can be switched off',
    model: new RegExp(`${claude('5').source}|haiku-5[-.]5`),
    has: { thinking: 'by default', noEffort: undefined },
  },
  { name: 'Claude 4.6 to 4.8', model: claude('4.[678]'), has: { thinking: 'if asked', noEffort: undefined } },
  {
    name: 'Claude 4.6',
    model: claude('4.6'),
    has: { temperature: 'if unthinking', efforts: { ...FIVE, xhigh: 'high' } },
  },
  {
    name: 'Claude before 4.6',
    model: new RegExp(`${claude('3(?:.[57])?|4(?:.[0-5])?').source}|claude-(?:v?[12]\\b|instant)`),
    has: {
      temperature: 'if unthinking',
      thinking: 'never',
      efforts: undefined,
      noEffort: undefined,
      maxOutput: 64_000,
    },
  },
  {
    name: 'Claude Opus 4 and 4.1',
    model: /opus-4(?![-.]?[2-9](?!\d))|4(?:[-.][01])?-opus/,
    has: { maxOutput: 32_000 },
  },
  {
    name: 'Claude 3 and older',
    model: new RegExp(`${claude('3').source}|claude-(?:v?[12]\\b|instant)`),
    has: { maxOutput: 4096 },
  },
  { name: 'Claude 3.5', model: claude('3.5'), has: { maxOutput: 8192 } },
  {
    name: 'OpenAI',
    host: /^api\.openai\.com$|\.openai\.azure\.com$/,
    has: { limit: 'max_completion_tokens', takesSystemAnywhere: true, takesFiles: true, maxTools: 128 },
  },
  {
    name: "OpenAI's models, wherever they are",
    model: /(^|\/)(gpt-(?!oss)|chatgpt-|o\d)/,
    has: { maxTools: 128 },
  },
  {
    name: "OpenAI's models that reason",
    model: /(^|\/)(o\d|gpt-([5-9]|\d\d))/,
    has: { limit: 'max_completion_tokens', temperature: 'never', efforts: THREE, encryptsReasoning: true },
  },
  {
    name: 'OpenAI from gpt-5.2 on',
    model: /(^|\/)gpt-(5\.([2-9]|\d\d)|[6-9])/,
    has: { efforts: { ...FIVE, max: 'xhigh' }, noEffort: 'none', temperature: 'if switched off' },
  },
  { name: 'gpt-oss', model: /gpt-oss/, has: { efforts: THREE } },
  { name: 'OpenRouter', host: /^openrouter\.ai$/, has: { takesFiles: true, searchesTools: true } },
  {
    name: 'Baseten and orq.ai',
    host: /(^|\.)(baseten\.co|orq\.ai)$/,
    has: { searchesTools: true },
  },
  {
    name: 'DeepSeek, Kimi and GLM, wherever they are',
    host: /(^|\.)(deepseek\.com|moonshot\.(ai|cn)|kimi\.com|z\.ai|bigmodel\.cn)$/,
    model: /deepseek|kimi|glm-/i,
    has: { wantsReasoning: true },
  },
  {
    name: 'the hosts of DeepSeek, Moonshot and Z.ai',
    host: /(^|\.)(deepseek\.com|moonshot\.(ai|cn)|kimi\.com|z\.ai|bigmodel\.cn)$/,
    has: { takesThinking: true },
  },
  { name: 'DeepSeek', host: /(^|\.)deepseek\.com$/, has: { efforts: FIVE } },
  { name: 'Gemini', model: /gemini/i, has: { wantsExtraContent: true } },
  {
    name: 'Gemini from 3 on',
    model: /gemini-([3-9]|\d\d)/i,
    has: { extraContentOtherwise: NO_SIGNATURE },
  },
  {
    name: 'Google',
    host: /(^|[.-])(generativelanguage|aiplatform)\.googleapis\.com$/,
    has: { wantsExtraContent: true, efforts: THREE },
  },
  {
    name: 'Mistral',
    host: /(^|\.)mistral\.ai$/,
    model: /(mis|minis|magis|devs|codes)tral|mixtral|pixtral/i,
    has: { callIds: 'nine', wantsAssistantAfterTool: true },
  },
]

/** What a model behind the Messages API takes if no row says otherwise. */
const messagesDialect: Partial<Dialect> = {
  temperature: 'if unthinking',
  thinking: 'by default',
  efforts: FIVE,
}

export function dialectOf({ hostname }: URL, model: string, otherwise: Partial<Dialect> = {}): Dialect {
  const rows = ROWS.filter((row) => row.host?.test(hostname) || row.model?.test(model))
  return Object.assign({}, PLAIN, otherwise, ...rows.map(({ has }) => has))
}

/**
 * Returns settings that a model takes, in its words; those that are undefined are not sent. `thinks` says whether to ask for
 * thinking or to switch it off; undefined if the model decides.
 */
export function fitSettings(request: MessagesRequest, dialect: Dialect) {
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
