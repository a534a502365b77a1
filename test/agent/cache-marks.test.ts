// The agent marks its requests for the prompt cache, within the API's rules, and re-sends a history unchanged but for the marks.
import { describe, expect, it } from 'vitest'
import { createAgent } from '../../packages/agent/src/agent.ts'
import type { MessagesClient } from '../../packages/agent/src/types.ts'
import { echo, heard, over, saying, serverTools, shelfWith } from './support.ts'

type Marked = { readonly cache_control?: unknown; readonly [field: string]: unknown }
type Request = {
  readonly tools: readonly Marked[]
  readonly system: readonly Marked[]
  readonly messages: readonly { readonly content: readonly Marked[] }[]
}

const call = (id: string) => ({
  content: [{ type: 'tool_use', id, name: 'own', input: {} }],
  stop_reason: 'tool_use',
})
const asked = (requests: readonly object[]) => requests as readonly Request[]
const isMarked = ({ cache_control }: Marked) => cache_control !== undefined
const withoutMarks = (value: unknown) =>
  JSON.stringify(value, (key, inner) => (key === 'cache_control' ? undefined : inner))
const countMarks = (value: unknown) => JSON.stringify(value).split('"cache_control"').length - 1

/** An agent with a deferred tool, an own one, and a history from an earlier session. */
function talk(model: { readonly client: MessagesClient }) {
  return over({ seen: [], ...model } as never, {
    shelf: shelfWith(serverTools('weather', 'forecast'), { toolSearch: true }),
    tools: [echo('own')],
    system: 'Be brief.',
    messages: [
      { role: 'user', content: 'earlier' },
      { role: 'assistant', content: 'yes' },
    ],
  }).agent
}

describe('cache marks', () => {
  it('are on the last tool that is in sight, the system prompt and the newest two user messages', async () => {
    const model = saying(call('1'))
    await heard(talk(model).send('hello'))
    for (const { tools, system, messages } of asked(model.requests)) {
      const sight = tools.filter(({ defer_loading }) => defer_loading !== true)
      expect(tools.filter(isMarked)).toEqual([sight.at(-1)])
      expect(system.map(isMarked)).toEqual([true])
      expect(isMarked(messages.at(-1)?.content.at(-1) ?? {})).toBe(true)
      expect(countMarks({ tools, system, messages })).toBe(4)
    }
  })

  it('move, and nothing else of what was sent changes', async () => {
    const model = saying(call('1'), call('2'))
    const agent = talk(model)
    await heard(agent.send('hello'))
    await heard(agent.send('and now?'))
    const requests = asked(model.requests)
    expect(requests).toHaveLength(4)
    for (const [index, { tools, system, messages }] of requests.slice(1).entries()) {
      const before = requests[index]
      expect(withoutMarks([tools, system])).toBe(withoutMarks([before?.tools, before?.system]))
      const again = messages.slice(0, before?.messages.length)
      expect(withoutMarks(again)).toBe(withoutMarks(before?.messages))
      // The mark of the request before is still there, to read the cache from.
      expect(isMarked(again.at(-1)?.content.at(-1) ?? {})).toBe(true)
    }
  })

  it('are left out from then on where an API refuses them', async () => {
    const requests: object[] = []
    const create = async (request: object) => {
      requests.push(request)
      if (countMarks(request) > 0)
        throw Object.assign(new Error('tools.0.cache_control: Extra inputs are not permitted'), {
          status: 400,
        })
      return { content: [{ type: 'text', text: 'ok' }], stop_reason: 'end_turn', usage: {} }
    }
    const agent = talk({ client: { messages: { create } } as never })
    for (const text of ['hello', 'again'])
      expect((await heard(agent.send(text))).at(-1)).toMatchObject({ type: 'end', reason: 'done' })
    expect(requests.map(countMarks)).toEqual([4, 0, 0])
  })

  it('of the host stay the only ones', async () => {
    const model = saying()
    const shelf = shelfWith([], { cacheControl: { type: 'ephemeral', ttl: '1h' } })
    await heard(
      createAgent({ client: model.client, model: 'claude-sonnet-4-5', shelf, tools: [echo('own')] }).send(
        'hi',
      ),
    )
    expect(countMarks(model.requests[0])).toBe(1)
  })
})
