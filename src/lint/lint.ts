// Checks the definitions of servers by all rules. Pure: what is checked, and the rankers that judge, come in.
import { allDefinitionTokens, createPureShelf, type PoolTool, type Tool } from '../core/index.ts'
import { closestNames } from '../lib/index.ts'
import type { LintLevel, LintSettings, ListedTool } from '../mcp/index.ts'
import { scanServer, scanText, type TextFinding } from '../scan/index.ts'
import { printableLine } from '../terminal/index.ts'
import { type Confusions, findConfusions, findTwins, type Judges } from './confusable.ts'
import { checkDescriptions, type ToolFinding } from './descriptions.ts'
import { lintRules, type RuleId, ruleIds } from './rules.ts'
import type { LintedServer, LintFinding, LintReport } from './types.ts'

/** Options of `lint`. */
export type LintOptions = {
  readonly judges: Judges
  /** Settings for all servers; those of a server and of a tool win. */
  readonly settings?: LintSettings
  /** Mistakes of the configuration. */
  readonly problems?: readonly { readonly file: string; readonly server?: string; readonly message: string }[]
}

const MAX_FINDINGS = 10_000

/**
 * Checks servers and returns what is wrong with them.
 *
 * @example
 * const report = await lint([{ name: 'github', tools }], { judges: { hybrid, lexical } })
 */
export async function lint(servers: readonly LintedServer[], options: LintOptions): Promise<LintReport> {
  const { settings = {}, problems = [] } = options
  const byName = new Map(servers.map((server) => [server.name, server]))
  const levelOf = createLevels(byName, settings)
  const pool = poolOf(servers)
  const searched = (tool: PoolTool) =>
    SEARCHED.some((rule) => levelOf(rule, tool.server ?? '', tool.original) !== 'off')
  const confusions = await findConfusions(pool, options.judges, searched)
  const found = [
    ...problems.map(
      ({ file, server = '', message }): Found => ({ rule: 'configuration', server, message, file }),
    ),
    ...unknownRules(servers, settings),
    ...servers.flatMap(aboutServer),
    ...servers.flatMap((server) => overBudget(server, tokensOf(pool, server), budgetOf(server, settings))),
    ...aboutTools(pool, confusions),
  ]
  const findings = found.flatMap((finding): LintFinding[] => {
    const { rule, server, tool = null, message, file } = finding
    const level = levelOf(rule, server, tool)
    const { source, lines, line: ownLine } = byName.get(server) ?? {}
    if (level === 'off') return []
    const line = (tool === null ? undefined : lines?.get(tool)) ?? ownLine ?? null
    return [
      { rule, level, server, tool, message: printableLine(message), source: file ?? source ?? null, line },
    ]
  })
  const errors = findings.filter(({ level }) => level === 'error')
  const warnings = findings.filter(({ level }) => level === 'warning')
  return {
    servers: servers.map((server) => ({
      name: server.name,
      source: server.source ?? null,
      tools: server.tools.map(({ name }) => name),
      tokens: tokensOf(pool, server),
      budget: { tokens: null, tools: null, ...budgetOf(server, settings) },
    })),
    findings: [...errors, ...warnings].slice(0, MAX_FINDINGS),
    errors: errors.length,
    warnings: warnings.length,
    searches: confusions.searches,
  }
}

/** Rules that need searches. */
const SEARCHED = ['not-found-by-name', 'not-found-by-description'] as const

type Found = {
  readonly rule: RuleId
  readonly server: string
  readonly tool?: string | null
  readonly message: string
  /** The file, if it is not the server's. */
  readonly file?: string
}

/** Settings for rules that do not exist. */
function unknownRules(servers: readonly LintedServer[], settings: LintSettings): Found[] {
  const named = (rules: LintSettings['rules'], server: string, tool: string | null) =>
    Object.keys(rules ?? {})
      .filter((id) => !Object.hasOwn(lintRules, id))
      .map((id): Found => {
        const [near] = closestNames(id, ruleIds, 1)
        const hint = near === undefined ? '' : `; did you mean "${near}"?`
        return {
          rule: 'configuration',
          server,
          tool,
          message: `unknown rule "${id.slice(0, 80)}" in "lint"${hint}`,
        }
      })
  return [
    ...named(settings.rules, '', null),
    ...servers.flatMap(({ name, settings: own, toolSettings = {} }) => [
      ...named(own?.rules, name, null),
      ...Object.entries(toolSettings).flatMap(([tool, one]) => named(one?.rules, name, tool)),
    ]),
  ]
}

/** The level of a rule for a tool: its own setting, else the server's, else the general one, else the rule's. */
function createLevels(servers: ReadonlyMap<string, LintedServer>, settings: LintSettings) {
  return (rule: RuleId, server: string, tool: string | null): LintLevel => {
    const { toolSettings, settings: own } = servers.get(server) ?? {}
    const ofTool =
      tool !== null && toolSettings && Object.hasOwn(toolSettings, tool) ? toolSettings[tool] : undefined
    return ofTool?.rules?.[rule] ?? own?.rules?.[rule] ?? settings.rules?.[rule] ?? lintRules[rule].level
  }
}

function poolOf(servers: readonly LintedServer[]): readonly PoolTool[] {
  const tools = servers.flatMap(({ name, tools: listed }) =>
    listed.map((tool) => ({ ...tool, ...(name === '' ? {} : { server: name }) }) as Tool),
  )
  return createPureShelf({ tools }).tools()
}

function tokensOf(pool: readonly PoolTool[], { name }: LintedServer): number {
  return allDefinitionTokens(pool.filter(({ server = '' }) => server === name))
}

function budgetOf(
  { settings: own }: LintedServer,
  settings: LintSettings,
): NonNullable<LintSettings['budget']> {
  return { ...settings.budget, ...own?.budget }
}

function overBudget(
  { name: server, tools }: LintedServer,
  tokens: number,
  budget: NonNullable<LintSettings['budget']>,
): Found[] {
  const findings: Found[] = []
  if (budget.tokens !== undefined && tokens > budget.tokens) {
    const message = `its definitions have about ${tokens} tokens, the budget is ${budget.tokens}`
    findings.push({ rule: 'budget-tokens', server, message })
  }
  if (budget.tools !== undefined && tools.length > budget.tools)
    findings.push({
      rule: 'budget-tools',
      server,
      message: `it has ${tools.length} tools, the budget is ${budget.tools}`,
    })
  return findings
}

function aboutServer({
  name: server,
  tools,
  instructions = '',
  failure,
  changed = [],
}: LintedServer): Found[] {
  const ofServer = scanText(instructions, 'instructions').map((finding) => ({ tool: null, ...finding }))
  return [
    ...(failure === undefined ? [] : [{ rule: 'server-failed' as const, server, message: failure }]),
    ...[...ofServer, ...scanServer(tools)].map(({ tool, ...finding }) => suspicion(server, tool, finding)),
    ...changed.map((tool) => {
      const message = 'its definition is not the one that was pinned'
      return { rule: 'changed-since-pinned' as const, server, tool, message }
    }),
    ...tools.flatMap((tool: ListedTool) =>
      checkDescriptions(tool).map((finding) => ({ ...finding, server, tool: tool.name })),
    ),
  ]
}

function suspicion(
  server: string,
  tool: string | null,
  { level, where, message, excerpt }: TextFinding,
): Found {
  const shown = excerpt === '' ? '' : `: "${excerpt}"`
  return {
    rule: level === 'warn' ? 'suspicious-text' : 'steering-text',
    server,
    tool,
    message: `${where}: ${message}${shown}`,
  }
}

function aboutTools(pool: readonly PoolTool[], { findings }: Confusions): Found[] {
  const twins = findTwins(pool)
  return pool.flatMap((tool) => {
    const own: readonly ToolFinding[] = [...(twins.get(tool) ?? []), ...(findings.get(tool) ?? [])]
    // Twins are always confused with each other: report only that they are twins.
    const reported = twins.has(tool) ? own.filter(({ rule }) => rule === 'twins') : own
    return reported.map((finding) => ({ ...finding, server: tool.server ?? '', tool: tool.original }))
  })
}
