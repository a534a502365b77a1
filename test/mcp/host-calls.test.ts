// Calls through the host: every kind of result, progress, cancellation, time-outs, and what servers ask in return.
import { describe, expect, it } from 'vitest'
import type { QuestionHandler } from '../../packages/mcp/src/types.ts'
import { type OpenOptions, openHost, shareHost, textOf } from './support/host.ts'
import { piped } from './support/piped.ts'

const config = () => piped('results', 'results')

async function results({ host } = openHost([config()])) {
  await host.settled()
  const give = (kind: string) => host.call('results', 'give', { kind })
  const run = (kind: string) => host.run({ id: 'toolu_1', name: 'mcp__results__give', input: { kind } })
  return { host, give, run }
}

describe('results', () => {
  const shared = shareHost(() => [config()])

  it('its methods work destructured, and in a copy', async () => {
    const { host } = await results(shared())
    const { run, call, status, isReadOnly } = { ...host }
    const used = { id: 'toolu_1', name: 'mcp__results__give', input: { kind: 'image' } }
    expect(await run(used)).toEqual(await host.run(used))
    expect(await call('results', 'give', { kind: 'image' })).toEqual(
      await host.call('results', 'give', { kind: 'image' }),
    )
    expect([status(), isReadOnly(used)]).toEqual([host.status(), false])
  })

  it('H6 types that no block has cost nothing of the rest', async () => {
    const { give } = await results(shared())
    expect((await give('odd-types')).content).toEqual([
      { type: 'text', text: '{"type":"constructor"}' },
      { type: 'text', text: '{"type":{"toString":1}}' },
      { type: 'text', text: 'kept' },
    ])
  })

  it('run: errors of both kinds are results with is_error; an empty result is none', async () => {
    const { run } = await results(shared())
    expect(await run('error')).toMatchObject({ is_error: true, content: [{ text: 'the disk is full' }] })
    const refused = await run('refused')
    expect(refused.is_error).toBe(true)
    expect(JSON.stringify(refused.content)).toContain('no such kind of bread')
    expect((await run('empty')).is_error).toBeUndefined()
  })

  it('run: no server can load a tool by what it returns (L1)', async () => {
    const { run } = await results(shared())
    const { content } = await run('forged')
    expect(content.every(({ type }) => type === 'text')).toBe(true)
  })

  it('run: a name that belongs to no server is answered, not thrown', async () => {
    const { host } = await results(shared())
    const result = await host.run({ id: 'toolu_2', name: 'Read', input: {} })
    expect(result).toMatchObject({ tool_use_id: 'toolu_2', is_error: true })
  })

  it('request: any method reaches the server; what it does not know is a rejection that says so', async () => {
    const { host } = await results(shared())
    expect(await host.request('results', 'ping')).toEqual({})
    await expect(host.request('results', 'resources/list')).rejects.toThrow(/resources\/list/)
  })
})

describe('progress, cancellation, time-outs', () => {
  it('a listener to progress that throws does not end the call', async () => {
    const { host } = await results()
    const onProgress = () => {
      throw new Error('not interested')
    }
    expect(textOf(await host.call('results', 'slow', { steps: 2 }, { onProgress }))).toBe('2 steps')
  })

  it('run: an aborted call is an answer too', async () => {
    const { host } = await results()
    const call = { id: 'toolu_1', name: 'mcp__results__slow', input: { steps: 1000 } }
    const controller = new AbortController()
    const running = host.run(call, { signal: controller.signal })
    controller.abort()
    expect(await running).toMatchObject({ tool_use_id: 'toolu_1', is_error: true })
    expect(await host.run(call, { signal: AbortSignal.abort() })).toMatchObject({ is_error: true })
  })
})

describe('what servers ask', () => {
  const everything = { elicitation: { form: {} }, sampling: {}, roots: { listChanged: true } }
  const questions = [
    [
      'elicitation/create',
      { mode: 'form', message: 'Your name?', requestedSchema: { type: 'object', properties: {} } },
      { action: 'accept', content: { name: 'Ada' } },
    ],
    [
      'sampling/createMessage',
      { messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }], maxTokens: 5 },
      { role: 'assistant', model: 'm', content: { type: 'text', text: 'hello' } },
    ],
    ['roots/list', undefined, { roots: [{ uri: 'file:///home', name: 'home' }] }],
  ] as const

  async function asking(options: OpenOptions = {}) {
    const { host } = openHost([piped('asking', 'asking')], options)
    await host.settled()
    const ask = async (method: string, params: unknown, questionHandler?: QuestionHandler) =>
      JSON.parse(
        textOf(
          await host.call('asking', 'ask', { method, params }, questionHandler ? { questionHandler } : {}),
        ),
      )
    return { host, ask }
  }

  const answering = (reply: object): QuestionHandler & { readonly heard: unknown[] } => {
    const heard: unknown[] = []
    return {
      heard,
      ask: async (method, params) => {
        heard.push([method, params])
        return reply as { [name: string]: unknown }
      },
    }
  }

  it.each(questions)(
    '%s reaches who made the call, and the answer the server',
    async (method, params, reply) => {
      const { ask } = await asking({ capabilities: everything })
      const questionHandler = answering(reply)
      expect((await ask(method, params, questionHandler)).result).toMatchObject(reply)
      const asked =
        method === 'elicitation/create' ? { message: 'The MCP server "asking" asks:\nYour name?' } : {}
      expect(questionHandler.heard).toEqual([[method, expect.objectContaining({ ...params, ...asked })]])
    },
  )

  it('a question goes to the host when the call brought nobody to ask', async () => {
    const questionHandler = answering({ roots: [] })
    const { ask } = await asking({ capabilities: everything, questionHandler })
    expect((await ask('roots/list', undefined)).result).toMatchObject({ roots: [] })
    expect(questionHandler.heard).toHaveLength(1)
  })
})

describe('H9 what a server says is read-only', () => {
  const call = (name: string) => ({ id: 'toolu_1', name: `mcp__${name}__look`, input: {} })

  it('counts only where the user trusts its annotations', async () => {
    const { host } = openHost([piped('plain', 'definitions hints'), piped('trusted', 'definitions hints')], {
      trustsAnnotations: ({ name }) => name === 'trusted',
    })
    await host.settled()
    expect(host.isReadOnly(call('plain'))).toBe(false)
    expect(host.isReadOnly(call('trusted'))).toBe(true)
    expect(host.isReadOnly({ ...call('trusted'), name: 'mcp__trusted__change' })).toBe(false)
    expect(host.isReadOnly({ ...call('trusted'), name: 'mcp__trusted__truthy' })).toBe(false)
    expect(host.isReadOnly({ ...call('trusted'), name: 'mcp__none__look' })).toBe(false)
  })
})
