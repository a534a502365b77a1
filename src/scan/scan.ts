// Scans tool definitions for text that looks like instructions to the model, or is made to win every search. Pure.
import type { ListedTool } from '../mcp/index.ts'
import { exfiltrationPhrases, namePhrases } from './exfiltration.ts'
import { findHidden } from './hidden.ts'
import { overridePhrases } from './override.ts'
import { findPhrases, joinTexts } from './phrases.ts'
import { secrecyPhrases } from './secrecy.ts'
import { shadowingPhrases } from './shadowing.ts'
import { findStuffing } from './stuffing.ts'
import { excerpt, type Suspicion, type TextFinding } from './suspicion.ts'
import { MAX_TEXTS, type Text, textsOf } from './texts.ts'

export type { Suspicion, SuspicionKind, TextFinding } from './suspicion.ts'

/** Scans every text of a tool that a model would read. */
export function scan(tool: ListedTool): readonly Suspicion[] {
  const { texts, names, isAll } = textsOf(tool)
  const findings = [
    ...scanTexts(texts),
    ...names.flatMap(({ text, where }) => findHidden(text, where)),
    ...findPhrases('exfiltration', namePhrases, joinTexts(names)),
    ...(isAll ? [] : [tooMany]),
  ]
  const worstFirst = findings.sort((a, b) => Number(b.level === 'warn') - Number(a.level === 'warn'))
  return worstFirst.slice(0, MAX_FINDINGS).map((finding) => ({ tool: tool.name, ...finding }))
}

/** Scans each of a server's tools, and looks for descriptions that many of them share. */
export function scanServer(tools: readonly ListedTool[]): readonly Suspicion[] {
  return [...tools.flatMap(scan), ...findCopies(tools)]
}

/** Scans one text that a model would read, such as a server's instructions. */
export function scanText(text: string, where: string): readonly TextFinding[] {
  return scanTexts([{ text, where }])
}

const MAX_FINDINGS = 100

function scanTexts(texts: readonly Text[]): TextFinding[] {
  const lines = joinTexts(texts)
  return [
    ...texts.flatMap(({ text, where }) => findHidden(text, where)),
    ...findPhrases('override', overridePhrases, lines),
    ...findPhrases('secrecy', secrecyPhrases, lines),
    ...findPhrases('exfiltration', exfiltrationPhrases, lines),
    ...findPhrases('shadowing', shadowingPhrases, lines),
    ...lines.lines.flatMap(({ text, where }) => findStuffing(text, where)),
  ]
}

const tooMany: TextFinding = {
  kind: 'hidden',
  level: 'note',
  where: 'inputSchema',
  excerpt: '',
  message: `only the first ${MAX_TEXTS} texts of the definition were read`,
}

/** From this many further tools on, a shared description fills search results without distinguishing the tools. */
const MAX_COPIES = 4
/** Characters; short descriptions may be the same for a good reason. */
const MIN_COPY_LENGTH = 40

function findCopies(tools: readonly ListedTool[]): Suspicion[] {
  const copies = new Map<string, string[]>()
  for (const { name, description } of tools) {
    if (typeof description !== 'string' || description.length < MIN_COPY_LENGTH) continue
    const names = copies.get(description)
    if (names) names.push(name)
    else copies.set(description, [name])
  }
  return [...copies].flatMap(([description, [tool = '', ...others]]): Suspicion[] => {
    if (others.length < MAX_COPIES) return []
    const message = `${others.length} other tools have the same description`
    const shown = excerpt(description, 0, description.length)
    return [{ tool, kind: 'stuffing', level: 'note', where: 'description', excerpt: shown, message }]
  })
}
