// The sendable form of a history: messages that any back-end takes. Its types are in support/history-types.ts.
import { describe, expect, it } from 'vitest'
import { validateRequest } from '../src/core/oracle/index.ts'
import { BOUND_MODEL, exampleTools, type Loose, MODEL, quietShelf, Talk } from './support/talk.ts'

describe('the sendable form of a history', () => {
  const SEND = 'mcp__slack__send_message'
  const tools = exampleTools.map(({ name, server }) => ({
    name: `mcp__${server}__${name}`,
    input_schema: { type: 'object' },
  }))
  const search = { name: 'ToolSearch', input_schema: { type: 'object' } }
  const errorOf = (messages: Loose) =>
    validateRequest({ model: MODEL, max_tokens: 100, tools: [...tools, search], messages })?.body.error
      .message

  async function searched(model = MODEL) {
    const talk = new Talk(quietShelf({ tools: exampleTools }), model)
    await talk.user('write to #dev').prepare()
    talk.assistant([
      { type: 'thinking', thinking: 'Who?', signature: 'c2ln' },
      { type: 'text', text: 'Who?' },
    ])
    await talk.user('go on').search(`select:${SEND},nothing`)
    await talk.prepare()
    talk.messages = [...((talk.last as Loose).history as Loose[])]
    return talk
  }

  it('has no notes and no references, and keeps every message of the host', async () => {
    const { shelf, messages } = await searched()
    const before = structuredClone(messages)
    expect(errorOf(messages)).toBeDefined()
    const sendable = shelf.sendable(messages)
    expect(errorOf(sendable)).toBeUndefined()
    expect(JSON.stringify(sendable)).not.toMatch(/tool_reference|deferred_tools_delta|"note"/)
    expect(JSON.stringify(sendable)).toContain(SEND)
    expect(sendable[0]).toEqual({ role: 'user', content: 'write to #dev' })
    expect(messages).toEqual(before)
  })

  it('C1 holds the summary of a compaction as a message', async () => {
    const { shelf, messages } = await searched()
    const compacted = await shelf.compact(messages, { summarize: 'All so far.' })
    expect(shelf.sendable(compacted)).toEqual([{ role: 'user', content: 'All so far.' }])
  })

  it('N5 has no thinking where it is bound to messages that change', async () => {
    const free = await searched()
    expect(JSON.stringify(free.shelf.sendable(free.messages))).toContain('"thinking"')
    const bound = await searched(BOUND_MODEL)
    expect(JSON.stringify(bound.shelf.sendable(bound.messages))).not.toContain('"thinking"')
  })

  it('of nothing is nothing', () => {
    expect(quietShelf({ tools: exampleTools }).sendable([])).toEqual([])
  })
})
