// The life of a chat without a screen: before its session is open, in turns, in commands, and at its end.
import { expect, test, vi } from 'vitest'
import type { AgentEvent } from '../../src/agent/index.ts'
import { createChat, STARTING } from '../../src/cli/chat/index.ts'
import { noFigures, prices } from '../../src/core/figures/index.ts'
import { mcp, quietShelf } from '../support/talk.ts'

type Chat = ReturnType<typeof createChat>
type Session = Parameters<Chat['attach']>[0]

function opened() {
  const kept: string[] = []
  const chat = createChat({
    ...{ welcome: ['Welcome.', 'Twice.'], directory: '/work', prices },
    typedLines: { keep: (line: string) => void kept.push(line), read: () => ['earlier'] } as never,
  })
  const shelf = quietShelf({ tools: [mcp('github', 'create_issue')], toolSearch: true })
  /** Ends what the agent is doing, with more events. */
  let go: (events: readonly object[]) => void = () => {}
  const sent: string[] = []
  const listeners = new Set<(event: object) => void>()
  async function* work(text: string, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    sent.push(text)
    const request = { model: 'm', messages: [{ role: 'user', content: text }], tools: [] }
    yield { type: 'request', sent: { request, loaded: [], decision: {} } } as never
    const more = await new Promise<readonly object[]>((resolve) => {
      go = resolve
      signal.addEventListener('abort', () => resolve([{ type: 'end', reason: 'stopped' }]), { once: true })
    })
    for (const event of more) {
      if ('throws' in event) throw new Error(String(event.throws))
      yield event as AgentEvent
    }
  }
  const agent = {
    ...{ model: 'claude-sonnet-5-5', used: 500, contextWindow: 1000, shelf },
    messages: [
      { role: 'user', content: 'an old question' },
      { role: 'assistant', content: [{ type: 'text', text: 'an old answer' }] },
    ],
    send: (text: string, { signal }: { signal: AbortSignal }) => work(text, signal),
    compact: ({ signal }: { signal: AbortSignal }) => work('compact', signal),
  }
  const host = {
    status: () => [{ name: 'github', state: 'pending', tools: [] }],
    listen: (listener: (event: object) => void) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    settled: () => new Promise(() => {}),
  }
  const session = { agent, shelf, host, file: '/sessions/one.jsonl', skills: { list: () => [] } }
  let drawn = 0
  const unsubscribe = chat.subscribe(() => {
    drawn++
  })
  return {
    ...{ chat, sent, kept, listeners, session: session as unknown as Session, agent, unsubscribe },
    drawn: () => drawn,
    /** Lets everything that waits continue. */
    settle: () => new Promise((resolve) => setImmediate(resolve)),
    answer: (...events: readonly object[]) => go(events),
  }
}

/** The finished items; how long a turn took differs each time. */
const shown = ({ chat }: { readonly chat: Chat }) =>
  chat.state().items.map((item) => JSON.stringify(item).replace(/"[\d.]+ s · /, '"TIME · '))

const reply = {
  type: 'reply',
  content: [{ type: 'text', text: 'Hi.' }],
  usage: { input: 100, cached: 20, output: 5 },
}
const end = { type: 'end', reason: 'done' }

test('messages wait for the session, which is then announced', async () => {
  const talk = opened()
  const { chat, session, sent, settle } = talk
  expect([chat.state().hint, chat.state().status, chat.state().isVerbose, chat.typed()]).toEqual([
    ...[STARTING, undefined, false],
    ['earlier'],
  ])
  const sending = chat.send(' hello ')
  await settle()
  expect([sent, chat.state().turn !== undefined, talk.kept]).toEqual([[], true, [' hello ']])
  chat.attach(session)
  await settle()
  expect([sent, chat.state().hint, chat.state().servers]).toEqual([
    ['hello'],
    '/help shows the commands',
    'servers: 1 starting',
  ])
  talk.answer({ type: 'text', text: 'Hi.' }, reply, end)
  await sending
  expect([chat.state().turn, chat.state().remark]).toEqual([undefined, undefined])
  const { status } = chat.state()
  expect(status).toMatchObject({ model: 'claude-sonnet-5-5', usedTokens: 500, windowTokens: 1000 })
  expect(status?.figures).toMatchObject({ rounds: 1, tokensWith: 120 })
  expect(shown(talk)).toMatchInlineSnapshot(`
    [
      "{"kind":"welcome","text":"Welcome."}",
      "{"kind":"welcome","text":"Twice."}",
      "{"kind":"user","text":"hello"}",
      "{"kind":"output","lead":"Folder    ","text":"/work","isOpen":false}",
      "{"kind":"output","lead":"Session   ","text":"/sessions/one.jsonl","isOpen":false}",
      "{"kind":"output","text":"Resumed   2 messages; the last of them:","isOpen":false}",
      "{"kind":"user","text":"an old question","isOpen":false}",
      "{"kind":"said","text":"an old answer","isOpen":false}",
      "{"kind":"said","text":"Hi.","isOpen":false}",
      "{"kind":"spent","text":"TIME · 120 tokens in (20 cached), 5 out · claude-sonnet-5-5 · context 50 % of 1k · saved 3,480 tokens"}",
    ]
  `)
  const before = talk.drawn()
  expect(before).toBeGreaterThan(5)
  talk.unsubscribe()
  chat.notify('a word')
  expect([talk.drawn(), chat.state().items.at(-1)]).toEqual([before, { kind: 'notice', text: 'a word' }])
})

test('spending adds up over turns', async () => {
  const talk = opened()
  talk.chat.attach(talk.session)
  expect(talk.chat.state().status?.figures).toEqual(noFigures)
  for (const rounds of [1, 2]) {
    const sending = talk.chat.send('hello')
    await talk.settle()
    talk.answer(reply, end)
    await sending
    expect(talk.chat.state().status?.figures).toMatchObject({ rounds, tokensWith: 120 * rounds })
  }
})

test('Ctrl-C stops a turn, and twice without one it ends the chat', async () => {
  const talk = opened()
  const { chat, settle } = talk
  chat.attach(talk.session)
  const remarks: unknown[] = []
  const note = () => remarks.push(chat.state().remark)
  const sending = chat.send('hello')
  await settle()
  chat.wait('/compact')
  note()
  chat.wait('more')
  note()
  chat.stay()
  note()
  chat.interrupt()
  note()
  chat.stay()
  note()
  await sending
  note()
  chat.interrupt()
  note()
  chat.stay()
  note()
  expect(remarks).toEqual([
    'This command cannot run during a turn: press Enter when the turn ends, or Ctrl-C to stop it.',
    'A turn is running: press Enter when it ends, or Ctrl-C to stop it.',
    undefined,
    ...['Stopping …', 'Stopping …', undefined],
    'Press Ctrl-C again to end the session; it is saved.',
    undefined,
  ])
  expect(chat.state().isOver).toBe(false)
  chat.interrupt()
  expect([chat.state().isOver, talk.listeners.size]).toEqual([false, 1])
  chat.interrupt()
  expect([chat.state().isOver, talk.listeners.size]).toEqual([true, 0])
})

test('the end of a chat stops its turn; nothing is attached afterwards', async () => {
  const talk = opened()
  talk.chat.attach(talk.session)
  const sending = talk.chat.send('hello')
  await talk.settle()
  talk.chat.quit()
  const items = shown(talk)
  expect([
    talk.chat.state().isOver,
    talk.chat.state().turn,
    items.some((line) => line.includes('Stopped.')),
  ]).toEqual([...[true, undefined, true]])
  await sending
  talk.chat.quit()
  expect(shown(talk)).toEqual(items)
  const early = opened()
  early.chat.quit()
  early.chat.attach(early.session)
  expect([early.chat.state().hint, early.chat.state().items.length]).toEqual([STARTING, 2])
})

test('a turn that throws is reported, and the next one works', async () => {
  const talk = opened()
  talk.chat.attach(talk.session)
  const failing = talk.chat.send('hello')
  await talk.settle()
  talk.answer({ throws: 'the model is gone' })
  await failing
  expect(shown(talk).some((line) => line.includes('the model is gone'))).toBe(true)
  const sending = talk.chat.send('again')
  await talk.settle()
  expect(talk.chat.state().turn).not.toBe(undefined)
  talk.answer(end)
  await sending
  expect(talk.sent).toEqual(['hello', 'again'])
})

test('commands answer without a turn, and wait where they must', async () => {
  const talk = opened()
  const { chat } = talk
  chat.attach(talk.session)
  const last = async (line: string) => {
    const from = chat.state().items.length
    await chat.send(line)
    return chat
      .state()
      .items.slice(from + 1)
      .map((item) => ('text' in item ? item.text : ''))
  }
  expect(await last('/model other')).toEqual(['The model is now other.'])
  expect(chat.state().status?.model).toBe('other')
  await last('/verbose')
  expect(chat.state().isVerbose).toBe(true)
  await last('/verbose')
  expect(chat.state().isVerbose).toBe(false)
  expect(await last('/nonsense')).toEqual(['Unknown command /nonsense. /help shows them all.'])
  const waits: unknown[] = []
  chat.subscribe(() => waits.push(chat.state().waiting))
  await last('/search issue')
  expect([...new Set(waits)]).toEqual([undefined, 'searching; waiting for github …'])
  expect(chat.state().waiting).toBe(undefined)
  expect((await last('/context'))[0]).toContain('as your next message will be sent')
  const sending = chat.send('hello')
  await talk.settle()
  talk.answer(end)
  await sending
  expect((await last('/context'))[0]).toContain('as your last message was sent')
  const compacting = chat.send('/compact')
  await vi.waitUntil(() => chat.state().turn !== undefined, 60_000)
  await talk.settle()
  talk.answer({ type: 'compacted' })
  await compacting
  expect((await last('/context'))[0]).toContain('as your next message will be sent')
  await last('/quit')
  expect(chat.state().isOver).toBe(true)
})
