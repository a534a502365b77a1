// The default ranker: words and meaning as one score.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { rankers, type Tool } from '../../src/index.ts'
import { createLexicalRank, poolTools } from '../../src/search/index.ts'
import { anyText } from '../support/any-text.ts'
import { runs } from '../support/runs.ts'

const tool = (server: string, name: string, description: string): Tool => ({ name, server, description })

const office = poolTools([
  tool('mail', 'send_email', 'Sends an e-mail to one or more recipients.'),
  tool('mail', 'search_inbox', 'Finds e-mails by sender, subject or text.'),
  tool('weather', 'get_forecast', 'Returns the weather forecast for a city.'),
  tool('slack', 'send_message', 'Posts a message to a channel or person.'),
  tool('slack', 'list_channels', 'Lists the channels of the workspace.'),
  tool('github', 'create_issue', 'Opens a new issue in a repository.'),
  tool('calendar', 'create_event', 'Adds an event to the calendar.'),
  tool('图书', '搜索', '按书名搜索图书'),
])

const best = async (query: string, limit = 1) => {
  const { hits } = await rankers.hybrid(office, query, limit)
  return hits.map(({ tool: { original } }) => original)
}

describe('hybrid', () => {
  it.each([
    ['slack send', 'send_message'],
    ['github issue', 'create_issue'],
    ['email', 'send_email'],
    ['搜索图书', '搜索'],
  ])('S7 S14 finds by words: %s', async (query, expected) => {
    expect(await best(query)).toEqual([expected])
  })

  it.each([
    ['will it rain tomorrow?', 'get_forecast'],
    ['schedule a meeting for Friday', 'create_event'],
    ['report a bug', 'create_issue'],
  ])('S7 finds by meaning what shares no word: %s', async (query, expected) => {
    expect(await best(query)).toEqual([expected])
  })

  it('S8 a query of no known meaning finds nothing', async () => {
    expect(await best('xyzzy quux', 5)).toEqual([])
  })

  it('S7 S12 never throws, is deterministic, and ranks each tool once', async () => {
    const anything = fc.record({
      query: anyText({ maxLength: 200 }),
      limit: fc.integer({ min: 1, max: 20 }),
    })
    await fc.assert(
      fc.asyncProperty(anything, async ({ query, limit }) => {
        const first = await rankers.hybrid(office, query, limit)
        const second = await rankers.hybrid(office, query, limit)
        expect(second.hits).toEqual(first.hits)
        expect(new Set(first.hits.map((hit) => hit.tool)).size).toBe(first.hits.length)
        expect(first.hits.length).toBeLessThanOrEqual(limit)
        expect(first.matched).toBeGreaterThanOrEqual(first.hits.length)
      }),
      { numRuns: runs(60) },
    )
  })
})

describe('a list of a few tools', () => {
  const memory = poolTools([
    tool('memory', 'create_entities', 'Creates new entities in the knowledge graph.'),
    tool('memory', 'add_observations', 'Adds new observations to entities of the knowledge graph.'),
    tool('memory', 'delete_entities', 'Deletes entities and their relations from the knowledge graph.'),
    tool('memory', 'read_graph', 'Reads the whole knowledge graph.'),
    tool('memory', 'open_nodes', 'Opens nodes of the knowledge graph by name.'),
  ])
  const names = async (query: string) =>
    (await rankers.hybrid(memory, query, 5)).hits.map(({ tool: { original } }) => original)

  it('S7 is searched by meaning as well', async () => {
    expect((await names('remember a fact'))[0]).toBe('add_observations')
  })

  it('S7 has nothing for what it does not do', async () => {
    expect(await names('play some jazz')).toEqual([])
    expect(await names('order a pizza')).toEqual([])
  })
})

describe('hidden characters in a query', () => {
  it.each([
    ['sl\u200back se\u200dnd', 'send_message'],
    ['for\u00adecast', 'get_forecast'],
    ['will it ra\ufeffin tomor\u2060row?', 'get_forecast'],
    ['\u202eemail\u202c', 'send_email'],
  ])('S12 change nothing: %j', async (query, expected) => {
    expect(await best(query)).toEqual([expected])
  })

  it('S12 nor in a tool', async () => {
    const tools = poolTools([tool('x', 'a', 'Shows the fore\u200bcast.'), tool('x', 'b', 'Sends mail.')])
    const { hits } = await createLexicalRank()(tools, 'forecast', 5)
    expect(hits.map(({ tool: { original } }) => original)).toEqual(['a'])
  })
})

describe('hostile catalogues', () => {
  it('H6 reads a schema that contains itself many times only once', async () => {
    const schema: { type: string; anyOf?: unknown[]; properties?: object } = { type: 'object' }
    schema.anyOf = Array(48).fill(schema)
    schema.properties = { again: schema }
    const entries = poolTools([{ name: 'loop', description: 'goes round', input_schema: schema }])
    expect((await rankers.hybrid(entries, 'round', 5)).hits).toHaveLength(1)
  })

  it('S7 a list that lost tools ranks like one that never had them', async () => {
    const [user, users, other] = poolTools([
      { name: 'user_tool', description: '' },
      { name: 'users_tool', description: '' },
      { name: 'other', description: '' },
    ])
    if (!user || !users || !other) throw new Error('three tools were given')
    await rankers.lexical([user, users, other], 'x', 5)
    const kept = [user, other]
    const after = await rankers.lexical(kept, 'usrs', 5)
    const fresh = await createLexicalRank()([...kept], 'usrs', 5)
    expect(after.hits).toEqual(fresh.hits)
  })
})
