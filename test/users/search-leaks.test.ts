// What searches of a restricted user show of tools that are hidden from them: nothing, neither found nor counted, although
// the process has just searched them for others.
import { expect, test } from 'vitest'
import { createShelf, type Shelf, type Tool } from '../../packages/core/src/index.ts'
import { explainHits } from '../../packages/core/src/rankers/explained-search.ts'
import { rankers } from '../../packages/core/src/rankers/rankers.ts'

const tool = (server: string, name: string, description: string): Tool => ({
  name,
  server,
  description,
  input_schema: { type: 'object', properties: { id: { type: 'string', description: `of the ${server}` } } },
})

const visible = [
  tool('shop', 'find_order', 'Finds an order by its number'),
  tool('shop', 'cancel_order', 'Cancels an order before it is shipped'),
  tool('shop', 'list_customers', 'Lists the customers of the shop'),
  tool('files', 'read_file', 'Reads a text file'),
  tool('files', 'delete_file', 'Deletes a file for good'),
  tool('mail', 'send_message', 'Sends a message to a person'),
]

/** They make words of the others frequent, and have words that nobody else has. */
const hidden = Array.from({ length: 60 }, (_, index) =>
  tool('payroll', `pay_order_${index}`, `Pays the salary order ${index} of a customer by payroll file`),
)

const QUERIES = [
  ...['order', 'find an order of a customer', 'payroll', 'payrol', 'sala', 'salaryorder', 'pays salary'],
  ...['file', 'Bestellung stornieren', 'Gehalt überweisen', 'select:mcp__payroll__pay_order_1'],
  ...['mcp__payroll__pay_order_1', '+payroll order', '+order file', 'message', 'fnid_ordr'],
]

/** Everything that answers about these tools say. */
async function answersOf(shelf: Shelf, ranker: 'hybrid' | 'lexical') {
  const tools = shelf.partition().deferred
  const rank = rankers[ranker]
  const answers = []
  for (const query of QUERIES) {
    const { tools: found, left, remark, definitions } = await shelf.search({ query })
    const { hits, matched } = await rank(tools, query, 10)
    const { whys } = await explainHits(
      tools,
      query,
      hits.map((hit) => hit.tool),
      ranker,
    )
    answers.push({
      ...{ query, left, remark, definitions, matched },
      found: found.map(({ name }) => name),
      scores: hits.map((hit) => [hit.tool.name, hit.score]),
      whys: [...whys].map(([{ name }, why]) => [name, why]),
    })
  }
  return answers
}

test.each(['hybrid', 'lexical'] as const)(
  '%s: answers are those of a gateway without the hidden tools',
  async (ranker) => {
    const alone = await answersOf(createShelf({ tools: visible, rank: ranker, environment: {} }), ranker)
    const shared = createShelf({ tools: [...hidden, ...visible], rank: ranker, environment: {} })
    const everything = await answersOf(shared, ranker)
    expect(JSON.stringify(everything)).toContain('payroll__pay_order')
    const rights = { tool: () => false, server: (name: string) => name === 'payroll' }
    const own = shared.fork({ isSubAgent: false, hide: rights })
    expect(await answersOf(own, ranker)).toEqual(alone)
    // And again, with everything remembered.
    await answersOf(shared, ranker)
    expect(await answersOf(own, ranker)).toEqual(alone)
  },
)
