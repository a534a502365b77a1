// The vocabulary of lint: what is checked, which rules apply, and the findings.
import type { LintLevel, LintSettings, ListedTool } from '../mcp/index.ts'
import type { RuleId } from './rules.ts'

/** A server to check, running or from a catalogue. */
export type LintedServer = {
  /** Empty for tools of a catalogue without a server. */
  readonly name: string
  readonly tools: readonly ListedTool[]
  /** Its instructions for the model, which are scanned too. */
  readonly instructions?: string | undefined
  readonly settings?: LintSettings | undefined
  /** Settings of single tools, by their own names. */
  readonly toolSettings?: { readonly [tool: string]: Pick<LintSettings, 'rules'> | undefined }
  /** The file that configures it, or the catalogue. */
  readonly source?: string | undefined
  /** The line of the server in the source, counted from 1. */
  readonly line?: number | undefined
  /** The line of each tool in the source, counted from 1, where it is known. */
  readonly lines?: ReadonlyMap<string, number>
  /** Why it could not be listed; undefined for a server that could. */
  readonly failure?: string | undefined
  /** Own names of tools that changed since they were pinned. */
  readonly changed?: readonly string[]
}

/** One broken rule. */
export type LintFinding = {
  readonly rule: RuleId
  readonly level: Exclude<LintLevel, 'off'>
  readonly server: string
  /** null if the finding is about the server. */
  readonly tool: string | null
  readonly message: string
  readonly source: string | null
  readonly line: number | null
}

/** Plain data, the same for the terminal, `--json`, SARIF and JUnit. */
export type LintReport = {
  readonly servers: readonly LintedTotals[]
  /** Errors first; at most 10,000. */
  readonly findings: readonly LintFinding[]
  readonly errors: number
  readonly warnings: number
  /** How many searches judged whether a tool is found, by ranker. */
  readonly searches: { readonly hybrid: number; readonly lexical: number }
}

/** Size of a checked server, and its budget. */
export type LintedTotals = {
  readonly name: string
  readonly source: string | null
  readonly tools: readonly string[]
  readonly tokens: number
  readonly budget: { readonly tokens: number | null; readonly tools: number | null }
}
