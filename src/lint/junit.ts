// Writes findings as JUnit XML: a suite per server, a test case per tool.
import { printableLine } from '../terminal/index.ts'
import { lintRules, ruleUrl } from './rules.ts'
import type { LintFinding, LintReport } from './types.ts'

/** Returns the document; only findings that fail the run are failures, the others are output of their case. */
export function toJunit({ servers, findings }: LintReport, fails: (finding: LintFinding) => boolean): string {
  const known = new Set(servers.map(({ name }) => name))
  const others = findings.filter(({ server }) => !known.has(server))
  const suites = [
    ...servers.map(({ name, tools }) => suiteOf(name, tools, findings, fails)),
    ...(others.length > 0
      ? [
          suiteOf(
            '',
            [],
            others.map((finding) => ({ ...finding, server: '' })),
            fails,
          ),
        ]
      : []),
  ]
  const total = (count: (suite: Suite) => number) => suites.reduce((sum, suite) => sum + count(suite), 0)
  const [tests, failures] = [total((suite) => suite.tests), total((suite) => suite.failures)]
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="toolshelf doctor" tests="${tests}" failures="${failures}">`,
    ...suites.map(({ xml }) => xml),
    '</testsuites>',
    '',
  ].join('\n')
}

type Suite = { readonly tests: number; readonly failures: number; readonly xml: string }

function suiteOf(
  server: string,
  tools: readonly string[],
  findings: readonly LintFinding[],
  fails: (finding: LintFinding) => boolean,
): Suite {
  const own = new Map<string | null, LintFinding[]>([null, ...tools].map((tool) => [tool, []]))
  for (const finding of findings.filter((one) => one.server === server)) {
    const list = own.get(finding.tool)
    if (list) list.push(finding)
    else own.set(finding.tool, [finding])
  }
  const title = server === '' ? 'configuration' : server
  const cases = [...own].map(([tool, list]) => caseOf(title, tool ?? '(server)', list, fails))
  const failures = cases.filter(({ isFailed }) => isFailed).length
  const head = `<testsuite name="${escaped(title)}" tests="${cases.length}" failures="${failures}">`
  return {
    tests: cases.length,
    failures,
    xml: [head, ...cases.map(({ xml }) => xml), '</testsuite>'].join('\n'),
  }
}

function caseOf(
  server: string,
  tool: string,
  findings: readonly LintFinding[],
  fails: (finding: LintFinding) => boolean,
) {
  const failed = findings.filter(fails)
  const others = findings.filter((finding) => !fails(finding))
  const failures = failed.map(
    (finding) =>
      `<failure type="${finding.rule}" message="${escaped(finding.message)}">${escaped(bodyOf(finding))}</failure>`,
  )
  const output =
    others.length > 0 ? [`<system-out>${escaped(others.map(bodyOf).join('\n'))}</system-out>`] : []
  const inside = [...failures, ...output].join('')
  return {
    isFailed: failed.length > 0,
    xml: `<testcase classname="${escaped(server)}" name="${escaped(tool)}">${inside}</testcase>`,
  }
}

function bodyOf({ level, rule, message }: LintFinding): string {
  return `${level} ${rule}: ${message}\n${lintRules[rule].remedy}\n${ruleUrl(rule)}`
}

/** Removes control characters, which XML cannot represent, and invisible characters, which could mislead readers. */
function escaped(text: string): string {
  return text
    .split('\n')
    .map(printableLine)
    .join('\n')
    .replace(/[\uFFFE\uFFFF]/g, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
