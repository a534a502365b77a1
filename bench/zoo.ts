// Sends every real definition of a catalogue through the whole path: pool, request, oracle, search, validation.

import { createShelf, validateInput } from '../packages/core/src/index.ts'
import { validateRequest } from '../packages/messages/src/oracle/validate.ts'
import { readCatalogue } from './catalogue.ts'
import { report } from './report.ts'

const tools = readCatalogue()
const notices: string[] = []
const begin = performance.now()
const shelf = createShelf({
  tools,
  toolSearch: true,
  environment: {},
  notify: (message) => notices.push(message),
})
const messages: object[] = [{ role: 'user', content: 'Load everything, piece by piece.' }]
const built = performance.now()

const first = await shelf.prepare({ model: 'claude-opus-4-6', max_tokens: 10, messages })
const names = first.history.flatMap((message) =>
  'addedNames' in message ? (message.addedNames as string[]) : [],
)
for (let start = 0; start < names.length; start += 25) {
  const query = `select:${names.slice(start, start + 25).join(',')}`.slice(0, 2000)
  const call = { type: 'tool_use', id: `toolu_${start}`, name: 'ToolSearch', input: { query } }
  messages.push({ role: 'assistant', content: [call] }, { role: 'user', content: [await shelf.answer(call)] })
}
const { request, loaded } = await shelf.prepare({ model: 'claude-opus-4-6', max_tokens: 10, messages })
const refused = validateRequest(JSON.parse(JSON.stringify(request)))
let odd = 0
for (const { input_schema } of tools) if (validateInput(input_schema, { 'not a field': 1 }).length > 0) odd++

report('Real definitions', 'npm run bench zoo <tools.jsonl>', [
  `${tools.length} definitions: ${names.length} announced under unique names, ${loaded.length} loaded by name, ${notices.length} warnings, pool built in ${Math.round(built - begin)} ms.`,
  `The oracle ${refused ? `REFUSED the request: ${refused.body.error.message}` : `accepted a request with ${request.tools.length} tools`}. ${odd} schemas refuse an unknown field or miss a required one; none threw.`,
])
