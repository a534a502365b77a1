// An agent on a shelf whose search tool has another name: what it loads, reports, measures and keeps out of batches.
import { describe, expect, it } from 'vitest'
import {
  type AgentOptions,
  createAgentMeter,
  createBatchTool,
  createScriptTool,
  type ToolContext,
} from '../../src/agent/index.ts'
import { createSkills } from '../../src/agent/skills/index.ts'
import type { ShelfOptions } from '../../src/index.ts'
import { over, runnerOn, said, saying, serverTools, shelfWith, textIn } from './support.ts'

const NAME = 'FindTools'
const FORECAST = 'mcp__weather__forecast'

const reply = (name: string, input: object) => ({
  content: [{ type: 'tool_use', id: `toolu_${name}`, name, input }],
  stop_reason: 'tool_use',
})
const skill = { name: 'tides', description: 'x', place: 'x', isRemote: false, read: async () => '' }
const search = reply(NAME, { query: `select:${FORECAST}` })
const forecast = reply(FORECAST, { city: 'Oslo' })

/** An agent whose model replies as given, and a shelf that calls its search FindTools. */
function talk(replies: readonly object[], options: Partial<AgentOptions> = {}, own: ShelfOptions = {}) {
  const shelf = shelfWith(serverTools('weather', 'forecast', 'alerts'), { searchTool: NAME, ...own })
  return over(saying(...replies), { shelf, runner: runnerOn(shelf), ...options })
}

describe('an agent on a shelf whose search tool is called FindTools', () => {
  it('preloads the tools that a message names', async () => {
    const { agent } = talk([], { preload: () => [FORECAST] })
    const results = (await said(agent, 'the forecast')).filter(({ type }) => type === 'result')
    expect(results).toMatchObject([{ call: { name: NAME }, loaded: [FORECAST] }])
    // What a search loaded is not loaded again.
    expect((await said(agent, 'the forecast')).filter(({ type }) => type === 'result')).toEqual([])
  })

  it('reports what a search loaded, on a wire that loads by text', async () => {
    const { agent } = talk([search], {}, { wire: 'append' })
    const events = await said(agent, 'go')
    expect(events.filter(({ type }) => type === 'result')).toMatchObject([{ loaded: [FORECAST] }])
  })

  it('counts a search as a round of the request that it delays', async () => {
    const { agent, shelf } = talk([search, forecast])
    const meter = createAgentMeter({ shelf })
    for await (const event of agent.send('go')) meter.follow(event)
    expect(meter.figures()).toMatchObject({ requests: 2, rounds: 3, extraRoundTrips: 1 })
  })

  it('refuses a search in a batch and in a script', async () => {
    const calls = [{ name: NAME, arguments: { query: 'forecast' } }]
    const shelf = shelfWith([], { searchTool: NAME })
    const tools = [createBatchTool(), createScriptTool({ shelf })]
    const script = reply('RunScript', { script: `return await tools['${NAME}']({ query: 'forecast' })` })
    const { agent } = over(saying(reply('CallTools', { calls }), script), { shelf, tools })
    const texts = (await said(agent, 'go')).flatMap((event) =>
      event.type === 'result' ? [textIn(event.result)] : [],
    )
    expect(texts[0]).toContain(`${NAME} cannot be called in CallTools; call it itself.`)
    expect(texts[1]).toContain(`${NAME} cannot be called in a script; call it itself.`)
  })

  it('names it to the model', async () => {
    const tools = serverTools('weather', 'forecast')
    const shelf = shelfWith(tools, { searchTool: NAME })
    expect(createScriptTool({ shelf }).description).toContain(
      `Find tools and their inputs with ${NAME} first.`,
    )
    const [discover] = createSkills([skill], { shelf }).tools
    expect(await discover!.run({ query: 'forecast of the weather' }, {} as ToolContext)).toContain(
      `Load them with ${NAME}, {"query": "select:${FORECAST}"}.`,
    )
  })
})
