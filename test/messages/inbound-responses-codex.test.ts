// A conversation as Codex sends it: tools in namespaces, freeform patches, hosted web search, stateless with encrypted
// reasoning. Its tools wait on the shelf, are found, called by the names that Codex knows, and survive a restart.
import { describe, expect, test } from 'vitest'
import { type Fields, fieldsOf, listOf, textOf } from '../../src/lib/json.ts'
import type { ObservedRequest } from '../../src/messages/upstream/script.ts'
import { always, play } from './script-talk.ts'
import { start } from './support/gateways.ts'

const fn = (name: string, description: string) => ({
  ...{ type: 'function', name, description, strict: false },
  parameters: { type: 'object', properties: { stripes: { type: 'integer', description } } },
})
const SERVERS = ['mail', 'files', 'calendar', 'crm', 'zoo', 'bank']
const namespace = (server: string) => ({
  ...{ type: 'namespace', name: `mcp__${server}`, description: `What the ${server} server does.` },
  tools: [
    ...Array.from({ length: 20 }, (_, at) =>
      fn(`${server}_${at}`, `Number ${at} of the ${server} server. `.repeat(20)),
    ),
    ...(server === 'zoo' ? [fn('paint_zebra', 'Paints a zebra with stripes.')] : []),
  ],
})
const tools = [
  fn('exec_command', 'Runs a command in a PTY.'),
  {
    ...{ type: 'custom', name: 'apply_patch', description: 'Edits files.' },
    format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
  },
  ...SERVERS.map(namespace),
  { type: 'web_search', external_web_access: false },
]
const message = (role: string, text: string) => ({
  type: 'message',
  role,
  content: [{ type: 'input_text', text }],
})
const request = (input: readonly Fields[]) => ({
  ...{ model: 'claude-opus-5-5', instructions: 'You are Codex.', input, tools, tool_choice: 'auto' },
  ...{
    parallel_tool_calls: false,
    reasoning: { effort: 'medium', summary: 'auto' },
    store: false,
    stream: true,
  },
  ...{ include: ['reasoning.encrypted_content'], prompt_cache_key: 'k', client_metadata: { a: 'b' } },
})

/** Reads a stream as Codex does: by its finished items and the last event. */
async function ask(url: string, input: readonly Fields[]): Promise<{ items: Fields[]; last: Fields }> {
  const response = await fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer x', 'session-id': 's' },
    body: JSON.stringify(request(input)),
  })
  expect(response.status).toBe(200)
  const events = (await response.text())
    .split('\n\n')
    .flatMap((chunk) => chunk.split('\n').filter((line) => line.startsWith('data: ')))
    .map((line) => fieldsOf(JSON.parse(line.slice(6))))
  const done = events.filter(({ type }) => type === 'response.output_item.done')
  return { items: done.map(({ item }) => fieldsOf(item)), last: events.at(-1) ?? {} }
}

/** Items as Codex sends them back: without ids and status. */
const back = (items: readonly Fields[]) => items.map(({ id: _, status: __, ...item }) => item)

describe('Codex', () => {
  test('finds a tool of a namespace, calls it, and still knows it after a restart', async () => {
    const seen: ObservedRequest[] = []
    const script = always({ call: 'mcp__zoo__paint_zebra', input: { stripes: 3 } }, { say: 'Done.' })
    const upstream = play(script, { onRequest: (one) => seen.push(one) })
    const [first, second] = [
      await start(upstream, { mode: 'shelve' }),
      await start(upstream, { mode: 'shelve' }),
    ]
    const input: Fields[] = [
      message('developer', 'Permissions.'),
      message('user', 'Paint a zebra with stripes.'),
    ]

    const { items, last } = await ask(first.url, input)
    const call = items.find(({ type }) => type === 'function_call')
    expect(call).toMatchObject({ namespace: 'mcp__zoo', name: 'paint_zebra', arguments: '{"stripes":3}' })
    expect(last).toMatchObject({
      type: 'response.completed',
      response: { status: 'completed', store: false },
    })
    expect(fieldsOf(fieldsOf(last.response).usage).total_tokens).toBeGreaterThan(0)
    // The model saw the tools of Codex itself and the search, not the 121 of its servers.
    expect(seen[0]?.visible.toSorted()).toEqual(['ToolSearch', 'apply_patch', 'exec_command'])

    input.push(...back(items), { type: 'function_call_output', call_id: call?.call_id, output: 'Painted.' })
    const { items: words } = await ask(second.url, input)
    const text = listOf(words.find(({ type }) => type === 'message')?.content).map((part) =>
      textOf(fieldsOf(part).text),
    )
    expect(text.join('')).toContain('Done.')
    expect(seen.at(-1)?.visible).toContain('mcp__zoo__paint_zebra')
    expect(seen.every(({ refused }) => refused === undefined)).toBe(true)
  })

  test('patches by a freeform call', async () => {
    const script = always({ call: 'apply_patch', input: { input: '*** Begin Patch' } }, { say: 'Patched.' })
    const seen: ObservedRequest[] = []
    const { url } = await start(play(script, { onRequest: (one) => seen.push(one) }), { mode: 'shelve' })
    const input: Fields[] = [message('user', 'Patch it.')]
    const { items } = await ask(url, input)
    const call = items.find(({ type }) => type === 'custom_tool_call')
    expect(call).toMatchObject({ name: 'apply_patch', input: '*** Begin Patch' })
    input.push(...back(items), { type: 'custom_tool_call_output', call_id: call?.call_id, output: 'Done' })
    input.push(message('developer', 'Plan mode.'), message('user', 'Thanks.'))
    await ask(url, input)
    expect(seen.map(({ refused }) => refused)).toEqual([undefined, undefined])
  })

  test('an error has the shape that it reads', async () => {
    const { url } = await start(play(always({ say: 'Hi.' })), { mode: 'shelve' })
    const response = await fetch(`${url}/v1/responses`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
      body: JSON.stringify({ ...request([]), previous_response_id: 'resp_1' }),
    })
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({
      error: {
        ...{ type: 'invalid_request_error', param: 'previous_response_id', code: null },
        message: expect.stringMatching(/Send the whole conversation in "input" with "store": false/),
      },
    })
  })
})
