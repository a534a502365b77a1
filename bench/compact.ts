// Measures compact definitions over a catalogue: tokens before and after.

import { createShelf } from '../packages/core/src/index.ts'
import { compactDefinition } from '../packages/core/src/signature.ts'
import { estimateTokens } from '../packages/core/src/tokens.ts'
import { readCatalogue } from './catalogue.ts'
import { report } from './report.ts'

const shelf = createShelf({ tools: readCatalogue(), environment: {}, notify: () => {} })
const entries = shelf.tools()
const compact = entries.flatMap((entry) => {
  const text = compactDefinition(entry.definition)
  return text === undefined ? [] : [{ entry, text }]
})
const before = entries.reduce((sum, { json }) => sum + estimateTokens(json), 0)
const whole = entries.length - compact.length
const texts = new Map(compact.map(({ entry, text }) => [entry.name, text]))
const after = entries.reduce((sum, { name, json }) => sum + estimateTokens(texts.get(name) ?? json), 0)
const number = (value: number) => value.toLocaleString('en-US')

report('Compact definitions', 'npm run bench compact <tools.jsonl>', [
  `${number(entries.length)} definitions: ${number(before)} tokens as JSON, ${number(after)} compact (${(100 * (1 - after / before)).toFixed(1)} % less), by the core's estimate; on average ${Math.round(before / entries.length)} and ${Math.round(after / entries.length)}.`,
  `${number(whole)} stay whole, because their signature would say too little for a valid call or would not be shorter.`,
])
