// Exports of lint for other folders.
export type { Judges } from './confusable.ts'
export { toJunit } from './junit.ts'
export { lint } from './lint.ts'
export { lintRules, type RuleId, ruleIds, ruleUrl } from './rules.ts'
export { toSarif } from './sarif.ts'
export { lintView } from './terminal.ts'
export type { LintedServer, LintFinding, LintReport } from './types.ts'
