// Tool search as clients of the Responses API know it, in front of models without one: OpenAI's on the server, one that
// the client runs, and that of gateways.
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { type Fields, omitFields } from '../../src/lib/json.ts'
import type { UpstreamWire } from '../../src/messages/types.ts'
import type { ObservedRequest } from '../../src/messages/upstream/script.ts'
import { always, play } from './script-talk.ts'
import { start } from './support/gateways.ts'

const WIRES: readonly UpstreamWire[] = ['native', 'append', 'bridge']
const fn = (name: string, extra: Fields = {}) => ({
  ...{ type: 'function', name, description: `Does ${name.replaceAll('_', ' ')}.`, strict: false },
  parameters: { type: 'object', properties: { stripes: { type: 'integer' } } },
  ...extra,
})
const DEFERRED = { defer_loading: true }
const zoo = {
  ...{ type: 'namespace', name: 'zoo', description: 'All about animals.' },
  tools: ['feed_lion', 'paint_zebra', 'wash_bear'].map((name) => fn(name, DEFERRED)),
}
const others = ['send_mail', 'list_mail', 'open_file'].map((name) => fn(name, DEFERRED))

/** A client that sends all of the conversation each time, and runs every call. */
async function talk(
  wire: UpstreamWire,
  tools: readonly Fields[],
  prompts: readonly string[],
  found: Fields[] = [],
) {
  const seen: ObservedRequest[] = []
  const search = found.length > 0 ? [{ call: 'tool_search', input: { query: 'zebra' } }] : []
  const script = always(...search, { call: 'zoo__paint_zebra', input: { stripes: 3 } }, { say: 'Done.' })
  const { url } = await start(play(script, { wire, onRequest: (one) => seen.push(one) }))
  const client = new OpenAI({ apiKey: 'x', baseURL: `${url}/v1`, maxRetries: 0 })
  const items: Fields[] = []
  const input: Fields[] = []
  for (const prompt of prompts) {
    input.push({ role: 'user', content: prompt })
    for (let reply = 0; reply < 5; reply++) {
      const body = { model: 'claude-opus-5-5', input, tools, store: false } as never
      const response = await client.responses.stream(body).finalResponse()
      const output = response.output.map((item) => omitFields({ ...item }, 'parsed_arguments'))
      items.push(...output)
      input.push(...output)
      const calls = output.filter(({ call_id: id }) => typeof id === 'string')
      if (calls.length === 0) break
      for (const { type, call_id } of calls)
        input.push(
          type === 'tool_search_call'
            ? { type: 'tool_search_output', call_id, execution: 'client', status: 'completed', tools: found }
            : { type: 'function_call_output', call_id, output: 'Painted.' },
        )
    }
  }
  return { items, seen }
}

const called = { type: 'function_call', namespace: 'zoo', name: 'paint_zebra', arguments: '{"stripes":3}' }

describe.each(WIRES)('in front of a model of the wire %s', (wire) => {
  test("OpenAI's search runs in the gateway, is shown, and loads for good", async () => {
    const tools = [{ type: 'tool_search' }, fn('Read'), zoo, ...others]
    const { items, seen } = await talk(wire, tools, ['Paint a zebra', 'Paint a zebra again'])
    expect(items.map(({ type }) => type)).toEqual([
      ...['tool_search_call', 'tool_search_output', 'function_call', 'message'],
      ...['function_call', 'message'],
    ])
    expect(items[0]).toMatchObject({ execution: 'server', call_id: null, status: 'completed' })
    expect(items[1]?.tools).toEqual(
      expect.arrayContaining([expect.objectContaining({ type: 'namespace', name: 'zoo' })]),
    )
    expect(items[2]).toMatchObject(called)
    expect(items[4]).toMatchObject(called)
    expect(seen[0]?.visible).not.toContain('zoo__paint_zebra')
    expect(seen.filter(({ refused }) => refused !== undefined)).toEqual([])
  })

  test('a search that the client runs', async () => {
    const search = {
      ...{
        type: 'tool_search',
        execution: 'client',
        description: 'Finds tools that are not in your list yet.',
      },
      parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
    }
    const { items, seen } = await talk(wire, [search, fn('Read')], ['Paint a zebra'], [zoo])
    expect(items.map(({ type }) => type)).toEqual(['tool_search_call', 'function_call', 'message'])
    expect(items[0]).toMatchObject({ execution: 'client', arguments: { query: expect.any(String) } })
    expect(items[1]).toMatchObject(called)
    expect(seen.filter(({ refused }) => refused !== undefined)).toEqual([])
  })

  test('the search tool of a gateway stays hidden', async () => {
    const tools = [{ type: 'openrouter:tool_search' }, fn('Read'), zoo, ...others]
    const { items, seen } = await talk(wire, tools, ['Paint a zebra', 'Paint a zebra again'])
    expect(items.map(({ type }) => type)).toEqual(['function_call', 'message', 'function_call', 'message'])
    expect(items[0]).toMatchObject(called)
    expect(seen[0]?.visible).not.toContain('zoo__paint_zebra')
  })
})
