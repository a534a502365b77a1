// Renders a replay for a terminal, at most 80 columns wide.
import { dollars } from '../core/figures/index.ts'
import { count, counted, printableLine, table, wrapLines } from '../terminal/index.ts'
import type { ReplayedTurn, ReplayReport } from './types.ts'

const WIDTH = 80
const MAX_ROWS = 40

const FORMATS: Record<ReplayReport['format'], string> = {
  toolshelf: 'a session of toolshelf',
  'claude-code': 'a session of Claude Code',
  codex: 'a session of Codex',
  http: 'an HTTP log',
}

/** Renders a report as text. */
export function replayView(report: ReplayReport): string {
  return [
    ...headOf(report).map((line) => wrapLines(line, WIDTH)),
    '',
    ...rowsOf(report),
    '',
    ...totalsOf(report),
    '',
    wrapLines(report.verdict.text, WIDTH),
    '',
    ...report.assumptions.map((line) => wrapLines(`- ${line}`, WIDTH)),
  ].join('\n')
}

function headOf({ format, recording, tools, wire }: ReplayReport): string[] {
  const { turns, conversations, compactions, models, unreadable, leftOut } = recording
  const parts = [
    counted(turns, 'turn'),
    ...(conversations > 1 ? [counted(conversations, 'conversation')] : []),
    ...(compactions > 0 ? [counted(compactions, 'compaction')] : []),
    models.map(printableLine).join(', '),
  ]
  const servers = tools.servers > 0 ? ` of ${counted(tools.servers, 'server')}` : ''
  return [
    `Replay of ${FORMATS[format]}: ${parts.join(', ')}.`,
    `${counted(tools.tools, 'tool')}${servers}, ${count(tools.tokens)} tokens of definitions; ${count(tools.deferred)} deferred, ${count(tools.used)} used (wire ${wire}).`,
    ...(unreadable > 0 ? [`Left out: ${counted(unreadable, 'line')} that could not be read.`] : []),
    ...(leftOut > 0 ? [`Left out: ${counted(leftOut, 'turn')} beyond the limit.`] : []),
    ...(tools.unknown.length > 0 ? [`Not among these tools: ${tools.unknown.join(', ')}.`] : []),
  ]
}

/** Consecutive turns in which nothing happens are one row. */
function rowsOf({ turns }: ReplayReport): string[] {
  const groups: ReplayedTurn[][] = []
  for (const turn of turns) {
    const last = groups.at(-1)
    const before = last?.at(-1)
    if (last && before && isQuiet(before) && isQuiet(turn) && isAlike(before, turn)) last.push(turn)
    else groups.push([turn])
  }
  const shown = groups.slice(0, MAX_ROWS).map(rowOf)
  const header = ['turn', 'without', 'with', 'saved', 'what happened']
  const rest = groups.length - shown.length
  return [
    'Tokens of definitions per turn; saved: of all prompts that the turn needs.',
    table(header, shown, WIDTH),
    ...(rest > 0 ? [`… and ${counted(rest, 'more row')}; --json lists every turn.`] : []),
  ]
}

function isQuiet({ search, brokenBy, calls }: ReplayedTurn): boolean {
  return search === null && brokenBy === null && calls.length === 0
}

function isAlike(one: ReplayedTurn, other: ReplayedTurn): boolean {
  return one.lane === other.lane && one.model === other.model && one.definitionsWith === other.definitionsWith
}

function rowOf(group: readonly ReplayedTurn[]): string[] {
  const [first, last] = [group[0], group.at(-1)]
  if (!first || !last) return []
  const saved = group.reduce((sum, { figures }) => sum + figures.tokensSaved, 0)
  return [
    first === last ? String(first.turn) : `${first.turn}-${last.turn}`,
    count(first.definitionsWithout),
    count(first.definitionsWith),
    count(saved),
    eventOf(first),
  ]
}

function eventOf({ lane, search, calls, brokenBy }: ReplayedTurn): string {
  const names = [...new Set(calls)].map(shortName)
  return [
    ...(lane === 'main' ? [] : [`[${lane}]`]),
    ...(brokenBy === null ? [] : [`cache broken: ${brokenBy}`]),
    ...(search === null
      ? []
      : [`+${counted(search.recorded + search.simulated, 'search').replace(/hs$/, 'hes')}`]),
    ...(names.length > 0 ? [names.join(', ')] : []),
  ].join(' ')
}

function shortName(name: string): string {
  return printableLine(name).replace(/^mcp__/, '')
}

function totalsOf({ total }: ReplayReport): string[] {
  const { dollarsWithout, dollarsWith, dollarsSaved } = total
  const money =
    dollarsWithout === undefined || dollarsWith === undefined || dollarsSaved === undefined
      ? []
      : [['list price', dollars(dollarsWithout), dollars(dollarsWith), dollars(dollarsSaved)]]
  const row = (name: string, without: number, used: number) => [
    name,
    count(without),
    count(used),
    count(without - used),
  ]
  const rows = [
    row('prompt tokens', total.tokensWithout, total.tokensWith),
    row('of these definitions', total.definitionsWithout, total.definitionsWith),
    row('largest prompt', total.largestPromptWithout, total.largestPromptWith),
    row('requests', total.requests, total.rounds),
    ...money,
  ]
  const { recorded, simulated } = total.searches
  return [
    table(['total', 'without', 'with', 'saved'], rows, WIDTH),
    `Searches: ${count(recorded)} recorded, ${count(simulated)} simulated. Prompt cache broken: ${count(total.prefixBreaks)} times.`,
    ...(total.pricesOf === null
      ? ['No money is shown: a model has no price; pass a price table with --prices.']
      : []),
  ]
}
