// The forms of a lint report: SARIF, JUnit and the terminal, also with hostile names.
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { type LintReport, lint, lintView, ruleIds, toJunit, toSarif } from '../../src/lint/index.ts'
import type { ListedTool } from '../../src/mcp/index.ts'
import { rankers } from '../../src/rankers/index.ts'

const EVIL = 'a"b<c>&\u001b[2J\u0000\u202e]]>'
let report: LintReport

beforeAll(async () => {
  const judges = { hybrid: rankers.lexical, lexical: rankers.lexical }
  const tools = [{ name: EVIL }, { name: 'fine', description: 'Lists all the things.' }] as ListedTool[]
  const lines = new Map([[EVIL, 7]])
  report = await lint(
    [
      { name: 'hub', tools, source: '/repo/tools.jsonl', lines },
      { name: '', tools: [] },
    ],
    {
      judges,
      problems: [{ file: '/repo/x.json', message: 'wrong' }],
      settings: { budget: { tools: 1 } },
    },
  )
})

type Sarif = {
  $schema: string
  version: string
  runs: {
    tool: {
      driver: { name: string; rules: { id: string; helpUri: string; shortDescription: { text: string } }[] }
    }
    results: {
      ruleId: string
      ruleIndex: number
      level: string
      message: { text: string }
      locations: { physicalLocation: { artifactLocation: { uri: string }; region: { startLine: number } } }[]
      partialFingerprints: { [name: string]: string }
    }[]
  }[]
}

describe('SARIF', () => {
  // The rules of SARIF 2.1.0, sections 3.13 to 3.49, as far as this log uses them.
  test('has every required field, and refers only to rules that it describes', () => {
    const log = toSarif(report, { version: '1.0.0', uriOf: (file) => file.slice('/repo/'.length) }) as Sarif
    expect(log.version).toBe('2.1.0')
    expect(URL.canParse(log.$schema)).toBe(true)
    const [run] = log.runs
    const { driver } = run!.tool
    expect(driver.name).not.toBe('')
    expect(driver.rules.map(({ id }) => id)).toEqual(ruleIds)
    for (const { helpUri, shortDescription } of driver.rules) {
      expect(URL.canParse(helpUri)).toBe(true)
      expect(shortDescription.text).not.toBe('')
    }
    expect(run!.results).toHaveLength(report.findings.length)
    for (const { ruleId, ruleIndex, level, message, locations, partialFingerprints } of run!.results) {
      expect(driver.rules[ruleIndex]?.id).toBe(ruleId)
      expect(['none', 'note', 'warning', 'error']).toContain(level)
      expect(message.text).not.toBe('')
      const [place] = locations
      expect(place!.physicalLocation.artifactLocation.uri).toMatch(/^(tools\.jsonl|x\.json)$/)
      expect(place!.physicalLocation.region.startLine).toBeGreaterThanOrEqual(1)
      expect(Object.values(partialFingerprints).every((print) => typeof print === 'string')).toBe(true)
    }
    const missing = run!.results.find(({ ruleId }) => ruleId === 'description-missing')
    expect(missing?.locations[0]?.physicalLocation.region.startLine).toBe(7)
    const prints = run!.results.map(({ partialFingerprints }) => Object.values(partialFingerprints)[0])
    expect(new Set(prints).size).toBe(prints.length)
  })

  test('makes no link of what a server wrote', () => {
    const [finding] = report.findings
    const hostile = { ...finding!, tool: 'see [the fix](https://evil.example)' }
    const log = toSarif({ ...report, findings: [hostile] }, { version: '1.0.0', uriOf: String }) as Sarif
    expect(log.runs[0]!.results[0]!.message.text).not.toContain('](')
  })
})

describe('JUnit', () => {
  test('has a case per tool and counts failures; hostile names stay text', () => {
    const xml = toJunit(report, ({ level }) => level === 'error')
    expect(xml).toMatch(
      /^<\?xml version="1.0" encoding="UTF-8"\?>\n<testsuites name="toolshelf doctor" tests="4" failures="3">/,
    )
    expect(xml).toContain('<testcase classname="hub" name="fine"></testcase>')
    expect(xml).toContain('<failure type="budget-tools"')
    expect(xml).toContain('name="a&quot;b&lt;c&gt;&amp; ]]&gt;"')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: XML allows none of them
    expect(xml).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u202e]/)
    const open = [...xml.matchAll(/<(test\w+|failure|system-out)[ >]/g)].map(([, name]) => name)
    const closed = [...xml.matchAll(/<\/(test\w+|failure|system-out)>/g)].map(([, name]) => name)
    expect(open.sort()).toEqual(closed.sort())
  })

  test('has findings that do not fail the run as output', () => {
    const xml = toJunit(report, () => false)
    expect(xml).toContain('failures="0"')
    expect(xml).toContain('error description-missing: it has no description')
  })
})

describe('the terminal', () => {
  test('shows each finding and its rule, and nothing that steers it', () => {
    const view = lintView(report, { width: 80 })
    expect(view).toMatch(/^error {3}\S+ {2}/)
    expect(view).toContain('doctor-ci.md#description-missing')
    expect(view).toMatch(/2 tools of 2 servers checked: 5 errors, 0 warnings\.$/)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    expect(view).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/)
  })
})

describe('docs/guides/doctor-ci.md', () => {
  test('has a heading for every rule, in their order', () => {
    const page = readFileSync(new URL('../../docs/guides/doctor-ci.md', import.meta.url), 'utf8')
    const headings = [...page.matchAll(/^### (\S+)$/gm)].map(([, heading]) => heading)
    expect(headings).toEqual(ruleIds)
  })
})
