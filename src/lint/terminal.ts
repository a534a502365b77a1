// Renders findings for a terminal or a CI log: one per line, then the rules that they break.
import { count, counted, wrapLines } from '../terminal/index.ts'
import { lintRules, type RuleId, ruleUrl } from './rules.ts'
import { findingName } from './sarif.ts'
import type { LintReport } from './types.ts'

const MAX_SHOWN = 100

/** Options of `lintView`. */
export type LintViewOptions = {
  /** Columns of the terminal. */
  readonly width: number
}

/** Renders a lint report as text. */
export function lintView(
  { servers, findings, errors, warnings }: LintReport,
  { width }: LintViewOptions,
): string {
  const shown = findings.slice(0, MAX_SHOWN)
  const rest = errors + warnings - shown.length
  const rules = [...new Set(shown.map(({ rule }) => rule))]
  const tools = servers.reduce((sum, server) => sum + server.tools.length, 0)
  const checked = `${counted(tools, 'tool')} of ${counted(servers.length, 'server')}`
  return [
    ...shown.map(({ level, rule, message, ...finding }) => {
      const name = findingName(finding)
      return wrapLines(`${level.padEnd(7)} ${rule}  ${name === '' ? '' : `${name}: `}${message}`, width)
    }),
    ...(rest > 0 ? [`… and ${count(rest)} more; --json, --sarif and --junit list them.`] : []),
    ...(rules.length > 0 ? ['', ...rules.map((rule) => explained(rule, width))] : []),
    ...(shown.length > 0 ? [''] : []),
    `${checked} checked: ${counted(errors, 'error')}, ${counted(warnings, 'warning')}.`,
  ].join('\n')
}

function explained(rule: RuleId, width: number): string {
  return `${wrapLines(`${rule}: ${lintRules[rule].remedy}`, width)}\n  ${ruleUrl(rule)}`
}
