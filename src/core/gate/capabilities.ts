// What each model and each back-end can do, as data. The only place that knows a model's or a vendor's name;
// code asks for a capability. Hosts replace the whole table or parts of it (option, file or URL).
// Implements G1, G3, Q4.

import { quote } from '../../lib/index.ts'
import { ShelfError } from '../errors.ts'
import { type WireName, wireNames } from '../types.ts'

/** What the capability table says of models whose id matches. */
export type ModelRow = {
  /** A regular expression on the model's id, without case; of several rows that match, the first to say a thing decides it. */
  readonly match: string
  /** In tokens. */
  readonly contextWindow?: number
  /** Replayed thinking is valid only while nothing already sent changes (N5). */
  readonly boundThinking?: boolean
  /** False where the API refuses `tool_choice` any/tool; the person is told. */
  readonly forcedToolChoice?: boolean
  /** Names the wire for this model where the back-end's own would not do, e.g. `append` for an old model. */
  readonly wire?: WireName
}

/** What the capability table says of a back-end. */
export type ProviderRow = {
  /** The name that the option `provider` takes. */
  readonly provider: string
  /** The maker's own API: an unknown base URL in front of it is taken for a proxy (G1). */
  readonly firstParty?: boolean
  /** Host names of the maker's own API. */
  readonly hosts?: readonly string[]
  /** `defer_loading` and `tool_reference` work here. */
  readonly references: boolean
  /** How tools are loaded here, unless the model's row or the option `wire` says otherwise. */
  readonly wire: WireName
  /** Beta headers for references; none where they are generally available. */
  readonly betas?: readonly string[]
  /** The provider's own search tools. */
  readonly hosted?: readonly ('bm25' | 'regex')[]
  /** Beta headers for `tool_addition`, by reference and by value. */
  readonly additions?: { readonly byReference?: string; readonly byValue?: string }
}

/** The capability table: what models and back-ends can do. */
export type Capabilities = {
  readonly models: readonly ModelRow[]
  readonly providers: readonly ProviderRow[]
  /** Models that do not understand references. Every other model is assumed to (G3). */
  readonly withoutReferences: readonly string[]
}

/** What holds for one model on one back-end. */
export type Capability = {
  /** The back-end's row; undefined where it is unknown. */
  readonly provider: ProviderRow | undefined
  readonly modelTakesReferences: boolean
  readonly wire: WireName | undefined
  readonly contextWindow: number
  readonly boundThinking: boolean
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

/** Betas that exist for tool search only: the kill switch takes them out of a host's own list too (M1). */
export function searchBetas(table: Capabilities): Set<string> {
  const rows = table.providers.flatMap((row) => [...(row.betas ?? []), ...Object.values(row.additions ?? {})])
  return new Set([...rows, ...OLD_BETAS, ...Object.values(ADDITIONS)])
}

/** Looks up what holds for a model on a back-end. */
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

/** True unless a first-party back-end is addressed through a host that is not its maker's. */
export function isKnownHost(baseURL: string | undefined, provider: ProviderRow | undefined): boolean {
  if (!provider?.firstParty || baseURL === undefined || baseURL.trim() === '') return true
  return (provider.hosts ?? []).includes(hostOf(baseURL.trim()) ?? '')
}

/**
 * The host that a URL leads to, as HTTP clients read it: a backslash ends it as a slash does, everything in front of the
 * last `@` is a user's name, and a dot at the end means the same host. The scheme may be missing.
 */
function hostOf(url: string): string | undefined {
  const authority =
    /^(?:[a-z][a-z0-9+.-]*:)?[/\\]{2}([^/\\?#]*)/i.exec(url)?.[1] ?? /^[^/\\?#]*/.exec(url)?.[0]
  const host = authority?.slice(authority.lastIndexOf('@') + 1)
  return host?.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase()
}

/** Puts a replacement, of which each part may be missing, over a table; throws when a part has the wrong form. */
export function mergeCapabilities(table: Capabilities, replacement: unknown): Capabilities {
  if (!isRecord(replacement))
    throw bad('must be an object with models, providers or withoutReferences', replacement)
  const { models, providers, withoutReferences } = replacement
  return {
    models: models === undefined ? table.models : checkRows<ModelRow>(models, isModelRow, 'models'),
    providers:
      providers === undefined
        ? table.providers
        : checkRows<ProviderRow>(providers, isProviderRow, 'providers'),
    withoutReferences:
      withoutReferences === undefined
        ? table.withoutReferences
        : checkRows<string>(withoutReferences, isPattern, 'withoutReferences'),
  }
}

const compiled = new Map<string, RegExp>()

function matches(pattern: string, model: string): boolean {
  let expression = compiled.get(pattern)
  if (!expression) {
    expression = new RegExp(pattern, 'iu')
    compiled.set(pattern, expression)
  }
  return expression.test(model)
}

function checkRows<Row>(rows: unknown, isRow: (row: unknown) => boolean, part: string): readonly Row[] {
  if (!Array.isArray(rows)) throw bad(`"${part}" must be a list`, rows)
  const wrong = rows.findIndex((row) => !isRow(row))
  if (wrong >= 0) throw bad(`"${part}" has an entry of the wrong form at position ${wrong}`, rows[wrong])
  return rows
}

function isModelRow(row: unknown): boolean {
  return isRecord(row) && isPattern(row.match)
}

function isProviderRow(row: unknown): boolean {
  return (
    isRecord(row) &&
    typeof row.provider === 'string' &&
    typeof row.references === 'boolean' &&
    wireNames.includes(row.wire as WireName)
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function bad(what: string, value: unknown): ShelfError {
  return new ShelfError(
    'BAD_CAPABILITIES',
    `a capability table ${what}, but was given ${quote(value)}. The exported \`defaultCapabilities\` shows the form.`,
    value,
  )
}
