// N5. Models that bind thinking to what came before it: nothing already sent may change.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { signThinking, validateRequest } from '../src/core/oracle/index.ts'
import type { Prepared, ShelfOptions, Tool } from '../src/index.ts'
import { runs } from './support/runs.ts'
import { BOUND_MODEL, builtIn, type Loose, MODEL, mcp, OLD_MODEL, quietShelf, Talk } from './support/talk.ts'
import { load, seen, talkOn, wireCases } from './support/wires.ts'

const slack = [mcp('slack', 'post'), mcp('slack', 'read')]
const github = [mcp('github', 'issue'), mcp('github', 'merge')]
const [POST, READ, ISSUE] = ['mcp__slack__post', 'mcp__slack__read', 'mcp__github__issue']
const tools: readonly Tool[] = [builtIn('Bash'), ...slack, ...github]
// The append wire changes `tools` with each load: its back-ends bind nothing.
const labels = wireCases.map(({ label }) => label).filter((label) => label !== 'append')

/** A conversation with a model that thinks before each reply and refuses thinking whose ground has moved. */
class BoundTalk extends Talk {
  constructor(options: ShelfOptions = {}, model = BOUND_MODEL) {
    super(quietShelf({ tools, ...options }), model)
  }

  override async prepare(more: object = {}): Promise<Prepared<Loose>> {
    const prepared = await super.prepare(more)
    const betas = (prepared.headers['anthropic-beta'] ?? '').split(',')
    const request = JSON.parse(JSON.stringify(prepared.request))
    const error = validateRequest(request, { betas, bindsThinking: this.model === BOUND_MODEL })
    if (error) throw new Error(error.body.error.message)
    return prepared
  }

  /** The model's next reply begins with thinking that is bound to the last request. */
  override assistant(content: Loose = 'done'): this {
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content
    if (!this.last) return super.assistant(blocks)
    const signature = signThinking(JSON.parse(JSON.stringify(this.last.request)))
    const isBound = this.last.request.model === BOUND_MODEL
    const thinking = { type: 'thinking', thinking: 'hm', signature: isBound ? signature : 'unbound' }
    return super.assistant([thinking, ...blocks])
  }

  async next(words: Loose = 'go on'): Promise<Prepared<Loose>> {
    return this.assistant().user(words).prepare()
  }
}

describe('N5 nothing already sent changes', () => {
  it('N5 the oracle sees a change: this suite can fail', async () => {
    const talk = new BoundTalk()
    await talk.user('start').prepare()
    talk.assistant()
    talk.messages[0] = { role: 'user', content: 'another start' }
    await expect(talk.user().prepare()).rejects.toThrow('bound to a different conversation')
  })

  it.each(labels)('N5 %s: loads, text siblings, deltas, a server that goes and comes back', async (label) => {
    const talk = new BoundTalk(wireCases.find((wire) => wire.label === label)?.options)
    await talk.user('start').prepare()
    await load(talk, POST)
    await talk.prepare()
    if (label !== 'hosted') await talk.search(`select:${ISSUE}`, [{ type: 'text', text: 'a sibling' }])
    await talk.prepare()
    talk.run('Bash')
    await talk.prepare()
    talk.shelf.remove({ server: 'slack' })
    expect(JSON.stringify((await talk.next()).request.messages)).toContain('no longer available')
    talk.run('Bash')
    await talk.prepare()
    talk.shelf.add(slack)
    await talk.next()
    talk.shelf.add(mcp('late', 'tool'))
    const last = await talk.next()
    expect(seen(last, [POST])).toEqual([POST])
  })

  it('N5 the text of N3 is there when the message is first sent, and stays whatever joins the turn', async () => {
    const talk = new BoundTalk()
    await talk.user().prepare()
    await talk.search(`select:${POST}`)
    const first: Loose = (await talk.prepare()).request.messages.at(-1)
    expect(first.content.at(-1)).toEqual({ type: 'text', text: 'Tool loaded.' })
    talk.user('an afterthought')
    expect((await talk.prepare()).request.messages.at(-2)).toEqual(first)
    talk.run('Bash')
    const { messages } = (await talk.prepare()).request
    expect(messages).toContainEqual(first)
    expect(messages).toContainEqual({ role: 'user', content: 'an afterthought' })
  })

  it('N5 text beside references stays where it was sent, also when a result comes later', async () => {
    const talk = new BoundTalk()
    await talk.user().prepare()
    await talk.search(`select:${POST}`, [{ type: 'text', text: 'a sibling' }])
    const sent = (await talk.prepare()).request.messages
    talk.run('Bash')
    expect((await talk.prepare()).request.messages.slice(0, sent.length)).toEqual(sent)
  })

  it('N5 the last server vanishes: nothing is left to search, and still nothing changes', async () => {
    const talk = new BoundTalk({ tools: [builtIn('Bash'), ...slack] })
    await talk.user().search(`select:${POST}`)
    await talk.prepare()
    talk.shelf.remove({ server: 'slack' })
    await talk.next()
    talk.shelf.add(slack)
    expect(seen(await talk.next(), [POST])).toEqual([POST])
  })

  it('N5 a tool that was gone when the bound model took over comes back', async () => {
    const talk = new BoundTalk({}, MODEL)
    await talk.user().search(`select:${POST},${ISSUE}`)
    await talk.prepare()
    talk.shelf.remove({ server: 'slack' })
    talk.model = BOUND_MODEL
    await talk.next()
    talk.shelf.add(slack)
    await talk.next()
    expect(seen(await talk.next(), [POST, ISSUE])).toEqual([POST, ISSUE])
  })

  it('N5 another model in between, and back', async () => {
    const talk = new BoundTalk()
    await talk.user().search(`select:${POST}`, [{ type: 'text', text: 'a sibling' }])
    await talk.prepare()
    for (const model of [MODEL, OLD_MODEL, BOUND_MODEL]) {
      talk.model = model
      talk.run('Bash')
      await talk.prepare()
    }
    expect(seen(await talk.next(), [POST])).toEqual([POST])
  })

  it('N5 a restart in between, with what was saved', async () => {
    const talk = new BoundTalk()
    await talk.user().search(`select:${POST}`)
    await talk.prepare()
    talk.shelf.remove({ server: 'slack' })
    await talk.next()
    const { state, history: messages } = JSON.parse(JSON.stringify(talk.last))
    const resumed = new BoundTalk({ tools: [builtIn('Bash'), ...github], state })
    resumed.messages = messages
    resumed.last = talk.last
    await resumed.next()
    resumed.shelf.add(slack)
    expect(seen(await resumed.next(), [POST])).toEqual([POST])
  })

  it('N5 any sequence of loads, words, calls, disconnects and connects', async () => {
    const step = fc.oneof(
      fc.record({
        kind: fc.constant('load'),
        name: fc.constantFrom(POST, READ, ISSUE, 'mcp__github__merge'),
      }),
      fc.record({ kind: fc.constantFrom('go', 'come'), server: fc.constantFrom('slack', 'github') }),
      fc.record({ kind: fc.constantFrom('say', 'run', 'aside') }),
    )
    type Step = { kind: string; name?: string; server?: string }
    const take = async (talk: BoundTalk, { kind, name, server }: Step) => {
      if (kind === 'load')
        await talk.search(`select:${name}`, talk.messages.length % 3 ? [] : [{ type: 'text', text: 'so' }])
      else if (kind === 'go') talk.shelf.remove({ server: String(server) })
      else if (kind === 'come') talk.shelf.add(server === 'slack' ? slack : github)
      else if (kind === 'run') talk.run('Bash')
      else if (kind === 'aside') talk.user('an aside')
      else talk.assistant().user()
    }
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        // A server that stays, so that there is always something to search.
        const talk = new BoundTalk({ tools: [...tools, mcp('stays', 'here')] })
        await talk.user().prepare()
        for (const one of steps) {
          await take(talk, one)
          await talk.prepare()
        }
        await talk.next()
      }),
      { numRuns: runs(25) },
    )
  })
})

describe('N5 tombstones', () => {
  const kept = (talk: Talk, name: string) =>
    JSON.stringify(talk.last?.request.tools.find((tool: Loose) => tool.name === name))

  const everywhere: [string, () => Talk][] = [
    ['a bound model', () => new BoundTalk()],
    ['any model, by the option', () => new Talk(quietShelf({ tools, tombstones: true }), MODEL)],
  ]

  it.each(everywhere)(
    'N5 %s: a vanished tool keeps its definition byte for byte, in its place',
    async (_, make) => {
      const talk = make()
      await talk.user().search(`select:${ISSUE},${POST}`)
      await talk.prepare()
      const before = JSON.stringify(talk.last?.request.tools)
      talk.shelf.remove({ server: 'github' })
      await talk.assistant().user().prepare()
      expect(JSON.stringify(talk.last?.request.tools)).toBe(before)
      expect(talk.visible).toContain(ISSUE)
    },
  )

  it.each(everywhere)(
    'N5 %s: it comes back with another schema, and what was sent stays',
    async (_, make) => {
      const talk = make()
      await talk.user().search(`select:${POST}`)
      await talk.prepare()
      const before = kept(talk, POST)
      talk.shelf.remove({ server: 'slack' })
      await talk.assistant().user().prepare()
      talk.shelf.add(mcp('slack', 'post', { description: 'quite another text' }))
      await talk.assistant().user().prepare()
      expect(kept(talk, POST)).toBe(before)
    },
  )

  it.each(everywhere)('N5 %s: its call fails locally, with a clear message', async (_, make) => {
    const talk = make()
    await talk.user().search(`select:${POST}`)
    await talk.prepare()
    expect(talk.shelf.check(talk.call(POST))).toBeUndefined()
    talk.shelf.remove({ server: 'slack' })
    await talk.assistant().user().prepare()
    const call = talk.call(POST)
    const refused = talk.shelf.check(call)
    expect(refused).toMatchObject({ type: 'tool_result', tool_use_id: call.id, is_error: true })
    expect(JSON.stringify(refused)).toMatch(new RegExp(`${POST}.*no longer available`))
    talk.shelf.add(slack)
    expect(talk.shelf.check(talk.call(POST))).toBeUndefined()
  })

  it('N5 a tool that is never deferred is kept too', async () => {
    const talk = new BoundTalk({ tools: [...tools, mcp('desk', 'bell', { alwaysLoad: true })] })
    await talk.user().prepare()
    const before = JSON.stringify(talk.last?.request.tools)
    talk.shelf.remove({ server: 'desk' })
    await talk.next()
    expect(JSON.stringify(talk.last?.request.tools)).toBe(before)
    expect(JSON.stringify(talk.shelf.check(talk.call('mcp__desk__bell')))).toContain('no longer available')
  })

  it('N5 without the option other models lose it (N2)', async () => {
    const talk = new Talk(quietShelf({ tools }), MODEL)
    await talk.user().search(`select:${POST}`)
    await talk.prepare()
    talk.shelf.remove({ server: 'slack' })
    await talk.assistant().user().prepare()
    expect(talk.sentTools).not.toContain(POST)
  })

  it('N5 a tombstone that was never loaded in this history is not sent', async () => {
    const talk = talkOn('reference', { tools }, BOUND_MODEL)
    await talk.user().search(`select:${POST}`)
    await talk.prepare()
    const other = talkOn('reference', { tools, state: talk.shelf.state() }, BOUND_MODEL)
    await other.user('a new conversation').prepare()
    expect(other.sentTools).not.toContain(POST)
  })
})
