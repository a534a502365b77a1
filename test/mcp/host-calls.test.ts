// Calls through the host: every kind of result, progress, cancellation, time-outs, and what servers ask in return.
import { describe, expect, it } from 'vitest'
import type { Progress, QuestionHandler } from '../../src/mcp/types.ts'
import type { Loose } from '../support/talk.ts'
import { type OpenOptions, openHost, shareHost, statusOf, textOf } from './support/host.ts'
import { piped } from './support/piped.ts'
import { until } from './support/processes.ts'

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

  it.each([
    ['image', { type: 'image', mimeType: 'image/png' }],
    ['audio', { type: 'audio', mimeType: 'audio/wav', data: 'UklGRg==' }],
    ['link', { type: 'resource_link', uri: 'file:///notes.txt', name: 'notes' }],
    ['embedded', { type: 'resource', resource: expect.objectContaining({ text: 'dear diary' }) }],
  ])('call: %s comes through as it is', async (kind, block) => {
    const { give } = await results(shared())
    expect((await give(kind)).content).toEqual([expect.objectContaining(block)])
  })

  it('call: structured content, _meta and unknown fields come through', async () => {
    const { give } = await results(shared())
    expect(await give('structured')).toMatchObject({
      structuredContent: { degrees: 21 },
      _meta: { 'example.org/source': 'sensor' },
    })
    const future = await give('future')
    expect(future).toMatchObject({ extra: { kept: true } })
    expect(JSON.stringify(future.content)).toContain('hologram')
  })

  it('call: a tool that failed is a result, a refused request a rejection with its message', async () => {
    const { give } = await results(shared())
    expect(await give('error')).toMatchObject({ isError: true, content: [{ text: 'the disk is full' }] })
    await expect(give('refused')).rejects.toThrow(/no such kind of bread/)
  })

  it('run: text and images are what a model reads', async () => {
    const { run } = await results(shared())
    expect(await run('text')).toEqual({
      type: 'tool_result',
      tool_use_id: 'toolu_1',
      content: [{ type: 'text', text: 'plain' }],
    })
    expect((await run('image')).content).toEqual([
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: expect.any(String) } },
    ])
  })

  it.each([
    ['audio', 'audio/wav'],
    ['link', 'file:///notes.txt'],
    ['embedded', 'dear diary'],
    ['structured-only', '{"degrees":21}'],
    ['future', 'hologram'],
  ])('run: %s becomes a text that says what it was', async (kind, text) => {
    const { run } = await results(shared())
    const { content, is_error } = (await run(kind)) as Loose
    expect(content).toEqual([{ type: 'text', text: expect.stringContaining(text) }])
    expect(is_error).toBeUndefined()
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
  it('progress comes through, in its order', async () => {
    const { host } = await results()
    const steps = [1, 2, 3].map((step) => ({ progress: step, total: 3, message: `step ${step}` }))
    // Often, because the last step and the answer may arrive together.
    for (let time = 0; time < 30; time += 1) {
      const seen: Progress[] = []
      const onProgress = (step: Progress) => seen.push(step)
      const output = await host.call('results', 'slow', { steps: 3, pause: 1 }, { onProgress })
      expect(textOf(output)).toBe('3 steps')
      expect(seen).toEqual(steps)
    }
  })

  it('a listener to progress that throws does not end the call', async () => {
    const { host } = await results()
    const onProgress = () => {
      throw new Error('not interested')
    }
    expect(textOf(await host.call('results', 'slow', { steps: 2 }, { onProgress }))).toBe('2 steps')
  })

  it('a call without progress ends by the time-out, which is named', async () => {
    const { host } = await results()
    const silent = host.call('results', 'slow', { steps: 1, pause: 60_000 }, { timeoutMs: 200 })
    await expect(silent).rejects.toThrow(/0\.2 s|200 ms/)
  })

  it('an aborted call rejects, and cancels at the server', async () => {
    const { host } = await results()
    const controller = new AbortController()
    const call = host.call('results', 'slow', { steps: 1000 }, { signal: controller.signal })
    const rejected = expect(call).rejects.toThrow()
    await host.call('results', 'give', { kind: 'text' })
    controller.abort(new Error('changed my mind'))
    await rejected
    await host.call('results', 'give', { kind: 'text' })
    await until(
      () => /cancelled: .*changed my mind/.test(statusOf(host, 'results').stderr),
      'the server was told',
    )
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

  it('cancels at the server when a call times out', async () => {
    const { host } = await results()
    const options = { timeoutMs: 200 }
    await expect(host.call('results', 'slow', { steps: 1, pause: 60_000 }, options)).rejects.toThrow()
    await until(() => statusOf(host, 'results').stderr.includes('cancelled:'), 'the server was told')
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

  it.each(questions)(
    'refuses %s of a client that cannot do it, and continues the call',
    async (method, params) => {
      const { ask } = await asking()
      expect((await ask(method, params)).error).toMatchObject({ code: expect.any(Number) })
    },
  )

  it('ping is answered during a call; unknown methods are refused as such', async () => {
    const { ask } = await asking()
    expect((await ask('ping', undefined)).result).toEqual({})
    expect((await ask('window/showMessage', { text: 'hello' })).error).toMatchObject({ code: -32601 })
  })

  it('an questionHandler that fails is an error for the server, not for us', async () => {
    const { ask } = await asking({ capabilities: everything })
    const questionHandler: QuestionHandler = { ask: () => Promise.reject(new Error('the user has left')) }
    expect((await ask('roots/list', undefined, questionHandler)).error.message).toContain('the user has left')
  })

  it('a question goes to the host when the call brought nobody to ask', async () => {
    const questionHandler = answering({ roots: [] })
    const { ask } = await asking({ capabilities: everything, questionHandler })
    expect((await ask('roots/list', undefined)).result).toMatchObject({ roots: [] })
    expect(questionHandler.heard).toHaveLength(1)
  })

  it('a hundred questions at once are a hundred answers', async () => {
    const { host } = await asking({ capabilities: everything })
    const questionHandler = answering({ roots: [] })
    const call = host.call('asking', 'ask_many', { method: 'roots/list' }, { questionHandler })
    expect(textOf(await call)).toBe('100')
    expect(questionHandler.heard).toHaveLength(100)
  })

  it('a question after the end of its call is refused or answered, and harms nothing', async () => {
    const { host, ask } = await asking({ capabilities: everything })
    const questionHandler = answering({ roots: [] })
    expect(
      textOf(await host.call('asking', 'ask_and_leave', { method: 'roots/list' }, { questionHandler })),
    ).toBe('left')
    expect((await ask('ping', undefined)).result).toEqual({})
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
