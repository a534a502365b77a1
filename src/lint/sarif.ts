// Writes findings as SARIF 2.1.0, which code hosts show beside the lines of a change.
import { printableLine } from '../terminal/index.ts'
import { lintRules, ruleIds, ruleUrl } from './rules.ts'
import type { LintFinding, LintReport } from './types.ts'

/** Options of `toSarif`. */
export type SarifOptions = {
  readonly version: string
  /** Returns a file's path relative to the repository, with slashes. */
  readonly uriOf: (file: string) => string
}

/** Returns a SARIF log with one run. */
export function toSarif({ findings }: LintReport, { version, uriOf }: SarifOptions): object {
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'toolshelf doctor',
            version,
            informationUri: 'https://github.com/toolshelf/toolshelf',
            rules: ruleIds.map((id) => ({
              id,
              shortDescription: { text: lintRules[id].title },
              help: { text: lintRules[id].remedy },
              helpUri: ruleUrl(id),
              defaultConfiguration: { level: lintRules[id].level },
            })),
          },
        },
        columnKind: 'utf16CodeUnits',
        results: resultsOf(findings, uriOf),
      },
    ],
  }
}

function resultsOf(findings: readonly LintFinding[], uriOf: SarifOptions['uriOf']): object[] {
  const counts = new Map<string, number>()
  return findings.map((finding) => {
    const { rule, server, tool } = finding
    const print = [rule, server, tool ?? ''].join('|')
    const before = counts.get(print) ?? 0
    counts.set(print, before + 1)
    // The same finding in the next run is the same result, whatever its line is then.
    const fingerprint = before === 0 ? print : `${print}|${before}`
    return { ...resultOf(finding, uriOf), partialFingerprints: { 'toolshelf/v1': fingerprint } }
  })
}

function resultOf(finding: LintFinding, uriOf: SarifOptions['uriOf']): object {
  const { rule, level, tool, message, source, line } = finding
  const name = findingName(finding)
  const physicalLocation = source === null ? undefined : placeIn(uriOf(source), line)
  const logicalLocations =
    name === '' ? undefined : [{ fullyQualifiedName: name, kind: tool === null ? 'module' : 'function' }]
  const location = {
    ...(physicalLocation ? { physicalLocation } : {}),
    ...(logicalLocations ? { logicalLocations } : {}),
  }
  return {
    ruleId: rule,
    ruleIndex: ruleIds.indexOf(rule),
    level,
    message: { text: withoutLinks(name === '' ? message : `${name}: ${message}`) },
    locations: Object.keys(location).length > 0 ? [location] : [],
  }
}

/** Viewers make links of `[text](target)`, also in what a server wrote. */
function withoutLinks(text: string): string {
  return text.replaceAll('](', '] (')
}

function placeIn(uri: string, line: number | null): object {
  return { artifactLocation: { uri }, region: { startLine: line ?? 1 } }
}

/** Returns `server/tool`, or the part of it that is known, safe to show. */
export function findingName({ server, tool }: Pick<LintFinding, 'server' | 'tool'>): string {
  return printableLine([server, tool ?? ''].filter((part) => part !== '').join('/'))
}
