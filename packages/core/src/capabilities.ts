// Lists the capabilities of models and back-ends, as data. In core only this file, the prices (`figures.ts`) and the hosted
// wire (`wires.ts`) name models and vendors. Hosts can replace the table or parts of it (option, file or URL).
// Implements G1, G3, Q4.

import { fieldsOf, isFields } from './lib/json.ts'
import { quote } from './lib/text.ts'
import { ShelfError, type WireName, wireNames } from './types.ts'

/** Capabilities of the models whose id matches. */
export type ModelRow = {
  /** A case-insensitive regular expression for the model's id; the first matching row that has a field decides it. */
  readonly match: string
  /** In tokens. */
  readonly contextWindow?: number
  /** Thinking that is sent again is valid only if nothing sent before it has changed (N5). */
  readonly boundThinking?: boolean
  /** False if the API refuses `tool_choice` any/tool; then a warning is reported. */
  readonly forcedToolChoice?: boolean
  /** The wire for this model if the back-end's does not work, e.g. `append` for an old model. */
  readonly wire?: WireName
}

/** Capabilities of a back-end. */
export type ProviderRow = {
  /** The value of the option `provider` that selects it. */
  readonly provider: string
  /** The vendor's own API: another base URL counts as a proxy (G1). */
  readonly firstParty?: boolean
  /** Host names of the vendor's own API. */
  readonly hosts?: readonly string[]
  /** It supports `defer_loading` and `tool_reference`. */
  readonly references: boolean
  /** The wire to use, unless the model's row or the option `wire` names another. */
  readonly wire: WireName
  /** Beta headers for references; none if they are generally available. */
  readonly betas?: readonly string[]
  /** The provider's own search tools. */
  readonly hosted?: readonly ('bm25' | 'regex')[]
  /** Beta headers for `tool_addition`, by reference and by value. */
  readonly additions?: { readonly byReference?: string; readonly byValue?: string }
}

/** The capability table: what models and back-ends can do. */
export type Capabilities = {
  /** One row per family of models. */
  readonly models: readonly ModelRow[]
  /** One row per back-end. */
  readonly providers: readonly ProviderRow[]
  /** Patterns of models that do not support references. All others are assumed to (G3). */
  readonly withoutReferences: readonly string[]
}

/** The capabilities of one model on one back-end. */
export type Capability = {
  /** The back-end's row; undefined for an unknown back-end. */
  readonly provider: ProviderRow | undefined
  /** False if the model is on the list `withoutReferences` (G3). */
  readonly modelTakesReferences: boolean
  /** The wire to use by default; undefined for an unknown back-end. */
  readonly wire: WireName | undefined
  /** In tokens. */
  readonly contextWindow: number
  /** Whether thinking is valid only after unchanged messages (N5). */
  readonly boundThinking: boolean
  /** Whether the model accepts `tool_choice` any and tool. */
  readonly forcedToolChoice: boolean
}

const CONTEXT_WINDOW = 200_000
const OLD_BETAS = ['tool-search-tool-2025-10-19', 'advanced-tool-use-2025-11-20'] as const
const ADDITIONS = {
  byReference: 'mid-conversation-tool-changes-2026-07-01',
  byValue: 'inline-tools-2026-09-15',
}

/** The capability table that comes with the package. */
export const defaultCapabilities: Capabilities = {
  models: [
    { match: '(fable|mythos)-5[-.][12]', boundThinking: true, forcedToolChoice: false },
    { match: 'opus-5[-.]5', boundThinking: true, forcedToolChoice: false },
    { match: '(sonnet|haiku)-5[-.]5', boundThinking: true },
    { match: '\\[1m\\]', contextWindow: 1_000_000 },
  ],
  providers: [
    {
      provider: 'anthropic',
      firstParty: true,
      hosts: [
        'api.anthropic.com',
        'api-staging.anthropic.com',
        'api.eu.anthropic.com',
        'api.us.anthropic.com',
      ],
      references: true,
      wire: 'reference',
      hosted: ['bm25', 'regex'],
      additions: ADDITIONS,
    },
    { provider: 'aws', references: true, wire: 'reference', hosted: ['bm25', 'regex'], additions: ADDITIONS },
    {
      provider: 'bedrock',
      references: true,
      wire: 'reference',
      betas: [OLD_BETAS[0]],
      hosted: ['regex'],
      additions: { byReference: ADDITIONS.byReference },
    },
    {
      provider: 'vertex',
      references: true,
      wire: 'reference',
      betas: [OLD_BETAS[0]],
      hosted: ['bm25', 'regex'],
      additions: { byReference: ADDITIONS.byReference },
    },
    { provider: 'foundry', references: true, wire: 'reference', betas: [OLD_BETAS[1]] },
    { provider: 'baseten', references: true, wire: 'reference' },
    { provider: 'openai-compatible', references: false, wire: 'append' },
  ],
  withoutReferences: [
    'claude-(instant|v?[012]\\b|3)',
    '(opus|sonnet|haiku)-3\\b',
    '(opus-4([-.]?[01])?|sonnet-4([-.]?0)?)($|[@:\\[]|-\\d{6}|-[a-z])',
    'claude-4([-.][01])?-(opus|sonnet)',
  ],
}

/** Returns the betas that exist only for tool search: the kill switch also removes them from a host's own list (M1). */
export function searchBetas(table: Capabilities): Set<string> {
  const rows = table.providers.flatMap((row) => [...(row.betas ?? []), ...Object.values(row.additions ?? {})])
  return new Set([...rows, ...OLD_BETAS, ...Object.values(ADDITIONS)])
}

/** Looks up the capabilities of a model on a back-end. */
export function capabilityOf(model: string, provider: string, table: Capabilities): Capability {
  const id = model.slice(0, 200)
  const rows = table.models.filter(({ match }) => matches(match, id))
  const row: Partial<ModelRow> = Object.assign({}, ...rows.toReversed())
  const back = table.providers.find((candidate) => candidate.provider === provider)
  return {
    provider: back,
    modelTakesReferences: !table.withoutReferences.some((pattern) => matches(pattern, id)),
    wire: row.wire ?? back?.wire,
    contextWindow: row.contextWindow ?? CONTEXT_WINDOW,
    boundThinking: row.boundThinking ?? false,
    forcedToolChoice: row.forcedToolChoice ?? true,
  }
}

/** Returns false if a vendor's own API is reached through a host that is not the vendor's. */
export function isKnownHost(baseURL: string | undefined, provider: ProviderRow | undefined): boolean {
  if (!provider?.firstParty || baseURL === undefined || baseURL.trim() === '') return true
  return (provider.hosts ?? []).includes(hostOf(baseURL.trim()) ?? '')
}

/**
 * Parses the host of a URL as HTTP clients do: a backslash ends it like a slash, everything in front of the last `@` is a
 * user name, and a trailing dot is ignored. The scheme may be missing.
 */
function hostOf(url: string): string | undefined {
  const authority =
    /^(?:[a-z][a-z0-9+.-]*:)?[/\\]{2}([^/\\?#]*)/i.exec(url)?.[1] ?? /^[^/\\?#]*/.exec(url)?.[0]
  const host = authority?.slice(authority.lastIndexOf('@') + 1)
  return host?.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase()
}

/** Replaces the parts of a table that the replacement contains. Throws if a part is invalid. */
export function mergeCapabilities(table: Capabilities, replacement: unknown): Capabilities {
  if (!isFields(replacement))
    throw bad('must be an object with models, providers or withoutReferences', replacement)
  const part = <Name extends keyof Capabilities>(name: Name, isRow: (row: unknown) => boolean) => {
    const rows = replacement[name]
    if (rows === undefined) return table[name]
    if (!Array.isArray(rows)) throw bad(`"${name}" must be a list`, rows)
    const wrong = rows.findIndex((row) => !isRow(row))
    if (wrong >= 0) throw bad(`"${name}" has an entry of the wrong form at position ${wrong}`, rows[wrong])
    return rows as unknown as Capabilities[Name]
  }
  return {
    models: part('models', (row) => isPattern(fieldsOf(row).match)),
    providers: part('providers', isProviderRow),
    withoutReferences: part('withoutReferences', isPattern),
  }
}

const compiled = new Map<string, RegExp>()

function matches(pattern: string, model: string): boolean {
  const expression = compiled.get(pattern) ?? new RegExp(pattern, 'iu')
  compiled.set(pattern, expression)
  return expression.test(model)
}

function isProviderRow(row: unknown): boolean {
  const { provider, references, wire } = fieldsOf(row)
  return (
    typeof provider === 'string' && typeof references === 'boolean' && wireNames.includes(wire as WireName)
  )
}

function isPattern(value: unknown): boolean {
  if (typeof value !== 'string' || value === '' || value.length > 300) return false
  try {
    return Boolean(new RegExp(value, 'iu'))
  } catch {
    return false
  }
}

function bad(what: string, value: unknown): ShelfError {
  return new ShelfError(
    'BAD_CAPABILITIES',
    `a capability table ${what}, but was given ${quote(value)}. The exported \`defaultCapabilities\` shows the form.`,
    value,
  )
}
