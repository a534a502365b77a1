import { describe, expect, it } from 'vitest'
import {
  BOUND_MODEL,
  builtIn,
  type Loose,
  MODEL,
  mcp,
  quietShelf,
  Talk,
} from '../../../packages/testkit/src/talk.ts'
import { seen, talkOn } from '../../../packages/testkit/src/wires.ts'
import type { Prepared, ShelfOptions, Tool } from '../../doors.ts'
import { signThinking, validateRequest } from '../../doors.ts'

const slack = [mcp('slack', 'post'), mcp('slack', 'read')]
const github = [mcp('github', 'issue'), mcp('github', 'merge')]
const [POST, ISSUE] = ['mcp__slack__post', 'mcp__github__issue']
const tools: readonly Tool[] = [builtIn('Bash'), ...slack, ...github]
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
    const request = JSON.parse(JSON.stringify((await talk.next()).request))
    expect(validateRequest(request, { bindsThinking: true })).toBeUndefined()
    request.messages[0].content = 'another start'
    const { body } = validateRequest(request, { bindsThinking: true }) ?? {}
    expect(body?.error.message).toContain('bound to a different conversation')
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
})

describe('N5 what must change all the same', () => {
  const LANGUAGE = 'Diagnostics'
  const thoughts = ({ request }: Prepared<Loose>) =>
    request.messages.flatMap(({ content }: Loose) =>
      Array.isArray(content) ? content.filter(({ type }) => type === 'thinking') : [],
    ).length

  /** Two turns, then the change, then two more; each request is checked. */
  async function across(talk: BoundTalk, change: () => void | Promise<void>): Promise<number[]> {
    const counts = [thoughts(await talk.user('start').prepare())]
    counts.push(thoughts(await talk.next()))
    await change()
    counts.push(thoughts(await talk.next()), thoughts(await talk.next()))
    return counts
  }

  function starting() {
    const server = { isStarting: true }
    const language = builtIn(LANGUAGE, { initializing: () => server.isStarting })
    const getReady = () => {
      server.isStarting = false
    }
    return { talk: new BoundTalk({ tools: [...tools, language] }), getReady }
  }

  it('N5 D6 a language server becomes ready: the thinking before is left out, later thinking is sent', async () => {
    const { talk, getReady } = starting()
    expect(await across(talk, getReady)).toEqual([0, 1, 0, 1])
    expect(talk.visible).toContain(LANGUAGE)
    expect(JSON.stringify(talk.messages).match(/"thinking","thinking"/g)).toHaveLength(3)
  })

  it('N5 D6 and a loaded one too', async () => {
    const { talk, getReady } = starting()
    await talk.user().prepare()
    await talk.search(`select:${LANGUAGE}`)
    expect(await across(talk, getReady)).toEqual([1, 2, 0, 1])
    expect(talk.visible).toContain(LANGUAGE)
  })

  it('N5 D5 a built-in turns critical, and back: what was sent stays', async () => {
    const bridge = { isUp: false }
    const brief = builtIn('Brief', { shouldDefer: true, critical: () => bridge.isUp })
    const talk = new BoundTalk({ tools: [...tools, brief] })
    const goUp = () => {
      bridge.isUp = true
    }
    expect(await across(talk, goUp)).toEqual([0, 1, 0, 1])
    bridge.isUp = false
    expect(thoughts(await talk.next())).toBe(2)
    expect(talk.visible).toContain('Brief')
  })

  it('N5 D2 an always-loaded server connects late', async () => {
    const talk = new BoundTalk({ servers: { desk: { alwaysLoad: true } } })
    expect(await across(talk, () => talk.shelf.add(mcp('desk', 'bell')))).toEqual([0, 1, 0, 1])
    expect(talk.visible).toContain('mcp__desk__bell')
  })

  it('N5 Q5 each load on the wire `append`', async () => {
    const talk = new BoundTalk({ wire: 'append' })
    await talk.user().prepare()
    await talk.search(`select:${POST}`)
    await talk.prepare()
    await talk.search(`select:${ISSUE}`)
    expect(thoughts(await talk.prepare())).toBe(0)
    expect(thoughts(await talk.next())).toBe(1)
    expect(seen(await talk.next(), [POST, ISSUE])).toEqual([POST, ISSUE])
  })

  it('N5 the host edits a message: thinking before it is sent, thinking after it is not', async () => {
    const talk = new BoundTalk()
    const edit = () => {
      talk.messages[2] = { role: 'user', content: 'something else' }
    }
    expect(await across(talk, edit)).toEqual([0, 1, 1, 2])
  })

  it('N5 the host takes a message away, or changes its system prompt', async () => {
    const talk = new BoundTalk()
    await talk.user('start').prepare({ system: 'Be brief.' })
    talk.assistant().user('a reminder for one turn')
    await talk.prepare({ system: 'Be brief.' })
    talk.messages.pop()
    expect(thoughts(await talk.user('go on').prepare({ system: 'Be brief.' }))).toBe(1)
    expect(thoughts(await talk.assistant().user().prepare({ system: 'Be long.' }))).toBe(0)
  })

  it('N5 a breakpoint of the prompt cache that moves is no change', async () => {
    const talk = new BoundTalk()
    const mark = { cache_control: { type: 'ephemeral' } }
    const words = (more: object) => [{ type: 'text', text: 'start', ...more }]
    await talk.user(words(mark)).prepare({ system: words(mark) })
    talk.messages = [{ role: 'user', content: words({}) }, ...(talk.last as Loose).history.slice(1)]
    expect(
      thoughts(
        await talk
          .assistant()
          .user(words(mark))
          .prepare({ system: words({}) }),
      ),
    ).toBe(1)
  })

  it('N5 thinking is sent again when what it is bound to is back: kill switch, another model', async () => {
    const environment: { [name: string]: string } = {}
    const talk = new BoundTalk({ environment })
    await talk.user('start').prepare()
    await talk.next()
    environment.TOOLSHELF_DISABLE_BETAS = '1'
    expect(thoughts(await talk.next())).toBe(0)
    delete environment.TOOLSHELF_DISABLE_BETAS
    expect(thoughts(await talk.next())).toBe(2)
    talk.model = MODEL
    await talk.next()
    talk.model = BOUND_MODEL
    expect(thoughts(await talk.next())).toBeGreaterThanOrEqual(3)
  })

  it.each(['a snip', 'a compaction'])('N5 C5 %s', async (way) => {
    const talk = new BoundTalk()
    const cut = async () => {
      talk.messages =
        way === 'a snip'
          ? talk.shelf.snip([...(talk.last as Loose).history], (_, index) => index === 2)
          : await talk.shelf.compact([...(talk.last as Loose).history], { summarize: 'so far', keep: 3 })
    }
    const [, , after, last] = await across(talk, cut)
    expect([after, last]).toEqual([0, 1])
  })

  it('N5 C5 a call taken out of a reply: only the thinking in front of it is sent', async () => {
    const talk = new BoundTalk()
    const { request } = await talk.user('start').prepare()
    const [first, second] = [talk.call('Bash'), talk.call('Bash')]
    const reply: Loose[] = []
    for (const call of [first, second]) {
      const signature = signThinking(JSON.parse(JSON.stringify(request)), reply)
      reply.push({ type: 'thinking', thinking: 'hm', signature }, call)
    }
    talk.messages.push({ role: 'assistant', content: reply })
    talk.user([first, second].map((call) => talk.shelf.result(call, 'fine')))
    expect(thoughts(await talk.prepare())).toBe(2)
    const without = (from: number, index: number) => ({
      ...talk.messages[from],
      content: talk.messages[from].content.toSpliced(index, 1),
    })
    talk.messages = [talk.messages[0], without(1, 1), without(2, 0)]
    expect(thoughts(await talk.prepare())).toBe(1)
  })

  it('N5 it survives a process, also if the change happens between two', async () => {
    const talk = new BoundTalk()
    await talk.user('start').prepare()
    await talk.next()
    await talk.next()
    const saved = JSON.parse(JSON.stringify(talk.last))
    for (const [more, count] of [
      [{}, 3],
      [{ tools: [...tools, builtIn('Added')] }, 0],
    ] as const) {
      const resumed = new BoundTalk({ ...more, state: saved.state })
      resumed.messages = structuredClone(saved.history)
      resumed.last = talk.last
      expect(thoughts(await resumed.next())).toBe(count)
      expect(thoughts(await resumed.next())).toBe(count + 1)
    }
  })

  it('N5 a question beside the conversation takes nothing from it', async () => {
    const talk = new BoundTalk()
    await talk.user('start').prepare()
    await talk.next()
    await talk.shelf.prepare({ model: BOUND_MODEL, messages: [{ role: 'user', content: 'A title for it?' }] })
    expect(thoughts(await talk.next())).toBe(2)
  })

  it('N5 thinking by hand is off for the request that loses the thinking of its calls', async () => {
    const { talk, getReady } = starting()
    const thinking = { type: 'enabled', budget_tokens: 1024 }
    await talk.user('start').prepare({ thinking })
    talk.run('Bash')
    getReady()
    expect((await talk.prepare({ thinking })).request.thinking).toEqual({ type: 'disabled' })
    expect((await talk.assistant().user().prepare({ thinking })).request.thinking).toEqual(thinking)
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

  it.each<[string, ShelfOptions, string]>([
    ['staged', { strategy: 'staged', tombstones: true }, MODEL],
    ['staged, a bound model', { strategy: 'staged' }, BOUND_MODEL],
    ['hosted', { wire: 'hosted', tombstones: true }, MODEL],
    ['on demand', { tombstones: true }, MODEL],
  ])(
    'N5 D5 D6 %s: a built-in that flips back is sent once, and not announced again',
    async (_, options, model) => {
      let isUp = true
      const flipping = [
        builtIn('Brief', { shouldDefer: true, critical: () => isUp }),
        builtIn('Diagnostics', { initializing: () => !isUp }),
        mcp('desk', 'bell'),
      ]
      const shelf = quietShelf({
        tools: [...tools, ...flipping],
        servers: { desk: { alwaysLoad: true } },
        ...options,
      })
      const talk = new Talk(shelf, model)
      const before = (await talk.user().prepare()).request.tools
      isUp = false
      shelf.setServer('desk', { alwaysLoad: false })
      const { request } = await talk.assistant().user().prepare()
      expect(request.tools).toEqual(before)
      expect(JSON.stringify(request.messages)).not.toMatch(/Brief|Diagnostics|desk/)
    },
  )

  it('N5 a tombstone that was never loaded in this history is not sent', async () => {
    const talk = talkOn('reference', { tools }, BOUND_MODEL)
    await talk.user().search(`select:${POST}`)
    await talk.prepare()
    const other = talkOn('reference', { tools, state: talk.shelf.state() }, BOUND_MODEL)
    await other.user('a new conversation').prepare()
    expect(other.sentTools).not.toContain(POST)
  })
})
