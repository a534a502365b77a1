// Measures compact definitions over a catalogue: tokens before and after, and whether a valid call can be made from each signature.
import { estimateTokens } from '../src/core/index.ts'
import { compactDefinition } from '../src/core/tools/index.ts'
import { createShelf, validateInput } from '../src/index.ts'
import { readCatalogue } from './catalogue.ts'
import { report } from './report.ts'
import { inputFrom } from './signature-input.ts'

const shelf = createShelf({ tools: readCatalogue(), environment: {}, notify: () => {} })
const entries = shelf.tools()
const compact = entries.flatMap((entry) => {
  const text = compactDefinition(entry.definition)
  return text === undefined ? [] : [{ entry, text }]
})
const failures: string[] = []
const lost: string[] = []
for (const { entry, text } of compact) {
  const schema = (entry.tool.input_schema ?? entry.tool.inputSchema) as { readonly required?: unknown }
  try {
    const input = inputFrom(text)
    const missing = [schema.required ?? []].flat().filter((name) => !(String(name) in input))
    if (missing.length > 0) lost.push(`${entry.name}: ${missing.join(', ')}`)
    const [problem] = validateInput(schema, input)
    if (problem) failures.push(`${entry.name}: ${problem.path} ${problem.message}`)
  } catch (error) {
    failures.push(`${entry.name}: ${(error as Error).message}`)
  }
}
const before = entries.reduce((sum, { json }) => sum + estimateTokens(json), 0)
const whole = entries.length - compact.length
const texts = new Map(compact.map(({ entry, text }) => [entry.name, text]))
const after = entries.reduce((sum, { name, json }) => sum + estimateTokens(texts.get(name) ?? json), 0)
const number = (value: number) => value.toLocaleString('en-US')

report('Compact definitions', 'npm run bench compact <tools.jsonl>', [
  `${number(entries.length)} definitions: ${number(before)} tokens as JSON, ${number(after)} compact (${(100 * (1 - after / before)).toFixed(1)} % less), by the core's estimate; on average ${Math.round(before / entries.length)} and ${Math.round(after / entries.length)}.`,
  `${number(whole)} stay whole, because their signature would say too little for a valid call or would not be shorter.`,
  `Of the other ${number(compact.length)}, an input built from the signature alone is valid for ${number(compact.length - failures.length)}; ${lost.length} lost a required argument.`,
  ...failures.slice(0, Number(process.env.SHOWN ?? 0)).map((line) => `- ${line}`),
])
