// The parts of a chat without a screen: what turns look like, what keys and commands do, what is asked.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { AgentEvent, FileChange, PermissionQuestion } from '../../src/agent/index.ts'
import { type CommandContext, isCommand, runSlash, slashHint } from '../../src/cli/chat/commands.ts'
import { contextLines, contextReport, conversationTokens } from '../../src/cli/chat/context.ts'
import { changeTitle, diffLines } from '../../src/cli/chat/diff-lines.ts'
import {
  applyKey,
  clearLine,
  type Key,
  type Line,
  lineAfter,
  pressesIn,
  submitLine,
  underCursor,
} from '../../src/cli/chat/editor.ts'
import { openTypedLines } from '../../src/cli/chat/index.ts'
import { type Item, itemLines, lastLinesOf } from '../../src/cli/chat/items.ts'
import { itemsOf, partsOf } from '../../src/cli/chat/parts.ts'
import { handlePress } from '../../src/cli/chat/press.ts'
import { choiceLines, createQuestions, hiddenIn, type Question } from '../../src/cli/chat/questions.ts'
import { resumedItems, watchServers } from '../../src/cli/chat/servers.ts'
import { settle } from '../../src/cli/chat/settle.ts'
import { savedParts, statusLine, statusParts } from '../../src/cli/chat/status.ts'
import {
  addStoppedNotice,
  applyEvent,
  newTurn,
  pauseWhileAsking,
  runningText,
  spentBy,
  spentItem,
  type TurnState,
  withAside,
} from '../../src/cli/chat/turn.ts'
import { noFigures } from '../../src/core/figures/index.ts'
import { mcp, quietShelf } from '../support/talk.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 }))
afterEach(() => void vi.useRealTimers())

const change = (lines: number, more: Partial<FileChange> = {}): FileChange =>
  ({
    ...{ path: 'src/a.ts', isNew: false, added: 2, removed: 1, left: 0 },
    lines: Array.from({ length: lines }, (_, index) => ({
      kind: (['added', 'removed', 'same', 'gap'] as const)[index % 4],
      text: `line ${index}`,
      line: index + 8,
    })),
    ...more,
  }) as FileChange

const use = (id: string, name: string, input: unknown = {}) => ({ type: 'tool_use', id, name, input })
const result = (id: string, content: unknown, isError = false) => ({
  ...{ type: 'tool_result', tool_use_id: id, content },
  ...(isError ? { is_error: true } : {}),
})
const usage = { input: 1000, cached: 2000, output: 30 }
const call = (id: string, name: string) => ({ id, name, input: { at: id } })

/** A turn with everything that can happen in one. */
const events = [
  { type: 'request' },
  { type: 'thinking', text: '  I think' },
  { type: 'text', text: '\n' },
  { type: 'text', text: 'First ' },
  { type: 'text', text: 'text\n\nand more' },
  { type: 'retry', reason: 'busy', attempt: 1, attempts: 5, milliseconds: 2500 },
  { type: 'request' },
  { type: 'text', text: 'I read.' },
  {
    type: 'reply',
    usage,
    content: [
      { type: 'thinking', thinking: 'hm' },
      { type: 'text', text: 'I read.' },
      ...[
        use('1', 'Read', { path: 'a' }),
        use('2', 'Grep', { pattern: 'x' }),
        use('3', 'ToolSearch', { query: 'q' }),
      ],
      { type: 'text', text: 'Then I run.' },
      ...[use('4', 'Bash', { command: 'ls' }), use('5', 'RunScript', { script: 'one\ntwo' })],
      ...[
        use('6', 'Edit', { path: 'b' }),
        use('7', 'Agent', { prompt: 'p' }),
        { ...use('8', 'web'), type: 'server_tool_use' },
      ],
    ],
  },
  ...[call('1', 'Read'), call('3', 'ToolSearch'), call('4', 'Bash'), call('5', 'RunScript')].map((one) => ({
    type: 'call',
    call: one,
  })),
  { type: 'inside', call: call('5', 'RunScript'), event: { type: 'call', call: call('i1', 'mcp__a__b') } },
  { type: 'inside', call: call('5', 'RunScript'), event: { type: 'call', call: call('i2', 'mcp__a__c') } },
  { type: 'inside', call: call('5', 'RunScript'), event: { type: 'call', call: call('i3', 'ToolSearch') } },
  {
    type: 'inside',
    call: call('5', 'RunScript'),
    event: { type: 'result', call: call('i1', 'x'), result: result('i1', 'r', true) },
  },
  { type: 'inside', call: call('5', 'RunScript'), event: { type: 'text', text: 'no' } },
  { type: 'result', call: call('1', 'Read'), result: result('1', 'content') },
  { type: 'result', call: call('2', 'Grep'), result: result('2', 'none', true) },
  {
    type: 'result',
    call: call('3', 'ToolSearch'),
    result: result('3', [{ type: 'tool_reference', tool_name: 'x' }]),
  },
  {
    type: 'result',
    call: call('4', 'Bash'),
    result: result('4', [{ type: 'text', text: 'failed' }, { type: 'image' }], true),
    outside: ['/etc\u001b'],
  },
  { type: 'notice', text: 'careful' },
  { type: 'notice', text: 'careful' },
  { type: 'result', call: call('5', 'RunScript'), result: result('5', 'x'.repeat(500)) },
  { type: 'notice', text: 'careful' },
  { type: 'result', call: call('6', 'Edit'), result: result('6', 'done'), change: change(40) },
  { type: 'compacted' },
  { type: 'broken-off', usage },
  { type: 'text', text: 'Bye' },
  { type: 'end', reason: 'error', error: 'it failed' },
  { type: 'end', reason: 'done' },
  { type: 'end', reason: 'stopped' },
] as unknown as readonly AgentEvent[]

const textOf = (items: readonly Item[]) =>
  items.map(({ kind, text, more = [], ...rest }) =>
    [
      `${kind} ${JSON.stringify(rest)} ${text}`,
      ...more.map(({ spans }) => `    ${JSON.stringify(spans)}`),
    ].join('\n'),
  )

test('a turn is shown as it happens, in short and in full', async () => {
  const lines: string[] = []
  for (const isVerbose of [false, true]) {
    let turn: TurnState = newTurn()
    for (const [index, event] of events.entries()) {
      turn = applyEvent(turn, event)
      if (index === 20) turn = withAside(turn, { kind: 'output', text: 'between' })
      const { items, parts, isBegun } = settle(turn.parts, isVerbose)
      turn = { ...turn, parts, isBegun: turn.isBegun || isBegun }
      lines.push(`${index} ${event.type}: ${runningText(turn)} ${isBegun}`, ...textOf(items))
    }
    lines.push(
      'left:',
      ...textOf(itemsOf(turn.parts, isVerbose)),
      JSON.stringify({ ...turn, parts: turn.parts.length }),
    )
  }
  await expect(lines.join('\n')).toMatchFileSnapshot('./chat/turns.txt')
})

test('calls are written with their input, cut where it is long', () => {
  const shown = (name: string, input: unknown, isVerbose = true) =>
    itemsOf(partsOf([{ role: 'assistant', content: [use('1', name, input)] }]), isVerbose)[0]?.text
  const inputs = [{}, { a: 1, b: 'x' }, [1], null, 'text', { a: 'x'.repeat(65) }, { a: 'x'.repeat(66) }]
  expect(inputs.map((input) => shown('Bash', input))).toMatchInlineSnapshot(`
    [
      "● Bash()",
      "● Bash(a: 1, b: "x")",
      "● Bash([1])",
      "● Bash("")",
      "● Bash("text")",
      "● Bash(a: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")",
      "● Bash(a: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…)",
    ]
  `)
  const script = (lines: number) => shown('RunScript', { script: Array(lines).fill('x').join('\n') }, false)
  expect([script(15)?.split('\n').length, script(17)?.split('\n').slice(-2)]).toEqual([
    16,
    ['  │ x', '  │ (2 more lines)'],
  ])
  expect(shown('RunScript', { script: 'y'.repeat(401) })).toContain('y… (1 more characters)')
})

test('stops the clock of a turn while a question is open', () => {
  const turn = newTurn()
  const at = (now: number) => vi.setSystemTime(1_000_000 + now)
  at(1000)
  const asking = pauseWhileAsking(turn, true)
  at(5000)
  expect([
    spentBy(turn),
    spentBy(asking),
    pauseWhileAsking(asking, true).askedAt,
    pauseWhileAsking(turn, false),
  ]).toEqual([5000, 1000, 1_001_000, turn])
  const again = pauseWhileAsking(asking, false)
  at(6000)
  expect(spentBy(again)).toBe(2000)
  const status = {
    model: 'm',
    usedTokens: 0,
    windowTokens: 10,
    figures: { ...noFigures, rounds: 1, tokensSaved: 5 },
  }
  expect(spentItem(again, status).text).toBe('2.0 s · m · saved 5 tokens ($0.0000)')
  expect(spentItem({ ...again, usage }, { ...status, figures: noFigures }).text).toBe(
    '2.0 s · 3,000 tokens in (2,000 cached), 30 out',
  )
  expect(spentItem({ ...again, usage: { ...usage, cached: 0 } }, undefined).text).toBe(
    '2.0 s · 1,000 tokens in, 30 out',
  )
  const retry = {
    type: 'retry',
    reason: 'It is busy!',
    attempt: 1,
    attempts: 5,
    milliseconds: 2500,
  } as AgentEvent
  const waiting = applyEvent({ ...turn, isBegun: true }, retry)
  expect(runningText(waiting)).toBe('trying again in 3 s (attempt 2 of 5)')
  at(9000)
  expect(runningText(waiting)).toBe('trying again in 0 s (attempt 2 of 5)')
  expect(waiting.notices).toEqual(['It is busy! Trying again. The answer above broke off and starts again.'])
  expect(addStoppedNotice(turn).notices).toEqual(['Stopped. The session continues.'])
})

test('the status says as much as is known', () => {
  const status = (usedTokens: number, windowTokens: number, figures = {}) =>
    statusParts({
      model: 'm'.repeat(41),
      usedTokens,
      windowTokens,
      figures: { ...noFigures, ...figures },
    }).slice(1)
  expect([
    status(99, 1000),
    status(100, 1000),
    status(1, 999),
    status(5, 1_000_000),
    status(5, 1_500_000),
    status(5, 0),
    status(0, 5),
  ]).toEqual([
    ...[['context 9.9 % of 1k'], ['context 10 % of 1k'], ['context 0.1 % of 999'], ['context 0.0 % of 1M']],
    ...[['context 0.0 % of 1500k'], ['context 500 % of 0'], []],
  ])
  const saved = (figures: object) => savedParts({ ...noFigures, rounds: 1, ...figures }).join(' | ')
  expect([
    saved({ tokensSaved: 0 }),
    saved({ tokensSaved: -1500, isEstimated: true }),
    saved({ extraRoundTrips: 1 }),
    saved({ extraRoundTrips: 2, dollarsSaved: 1 }),
  ]).toMatchInlineSnapshot(`
    [
      "saved 0 tokens ($0.0000)",
      "cost about 1,500 tokens more ($0.0000)",
      "saved 0 tokens ($0.0000) | 1 extra round trip",
      "saved 0 tokens ($1.00) | 2 extra round trips",
    ]
  `)
  const brief = (tokensSaved: number) =>
    statusLine(
      { model: 'm', usedTokens: 5, windowTokens: 1000, figures: { ...noFigures, rounds: 1, tokensSaved } },
      22,
    )
  expect([9999, 10_000, 999_999, 1_000_000].map(brief)).toMatchInlineSnapshot(`
    [
      "m · 1 % · saved 9,999",
      "m · 1 % · saved 10k",
      "m · 1 % · saved 1000k",
      "m · 1 % · saved 1.0M",
    ]
  `)
})

test('items are lines of their kind; a long one is cut', async () => {
  const paper = { columns: 40, isPlain: false }
  const kinds = [
    'welcome',
    'user',
    'output',
    'said',
    'thought',
    'summary',
    'call',
    'failed',
    'notice',
    'spent',
  ] as const
  const lines = kinds.flatMap((kind) => [
    ...itemLines({ kind, text: 'one **two**\nthree\u001b[1m' }, paper),
    ...itemLines(
      {
        kind,
        text: 'x\ny',
        lead: 'L\u001b ',
        isApart: true,
        fence: '```js',
        more: [{ spans: [{ text: 'm' }] }],
      },
      { ...paper, isPlain: true },
    ),
    ...itemLines({ kind, text: 'code', fence: '```js', isOpen: true }, paper),
  ])
  await expect(lines.map((line) => JSON.stringify(line)).join('\n')).toMatchFileSnapshot('./chat/items.txt')
  const count = (text: string, isOpen = false) => {
    const shown = itemLines({ kind: 'output', text, isOpen }, paper).map(({ spans }) => spans[0]?.text ?? '')
    return [shown.length, shown[0]?.length, shown.at(-1)?.slice(0, 60)]
  }
  const rows = (number: number) => Array.from({ length: number }, (_, index) => `r${index}`).join('\n')
  expect([count('x'.repeat(50_000)), count('x'.repeat(50_001)), count('x'.repeat(50_001), true)]).toEqual([
    [1, 50_000, 'x'.repeat(60)],
    [2, 50_000, '… and 1 more characters, which are not shown'],
    [1, 50_000, 'x'.repeat(60)],
  ])
  expect([count(rows(3000)), count(rows(3001)), count(rows(3001), true), count(rows(3000), true)]).toEqual([
    [3000, 2, 'r2999'],
    [3001, 2, '… and 6 more characters, which are not shown'],
    [3000, 2, 'r3000'],
    [3000, 2, 'r2999'],
  ])
  const items: Item[] = ['a', 'b\nc', 'd'].map((text) => ({ kind: 'output', text }))
  expect(
    [1, 2, 3, 9].map((most) =>
      lastLinesOf(items, most, paper)
        .map(({ spans }) => spans[0]?.text)
        .join(''),
    ),
  ).toEqual(['d', 'cd', 'bcd', 'abcd'])
})

test('a change is shown with numbers and signs, up to a limit', () => {
  const texts = (given: FileChange, most: number) =>
    diffLines(given, most).map(({ spans: [span] }) => `${span?.color} ${span?.text}`)
  expect(texts(change(4), 3)).toEqual([
    'green  8 + line 0',
    'red  9 - line 1',
    'gray 10   line 2',
    'yellow … and 1 more lines',
  ])
  expect(texts(change(4), 4).at(-1)).toBe('gray    …')
  expect(texts(change(1, { left: 1999 }), 5).at(-1)).toBe('yellow … and 1,999 more lines')
  const long = (length: number) =>
    texts(change(1, { lines: [{ kind: 'same', text: `\n\u001b${'x'.repeat(length - 2)}`, line: 1 }] }), 1)[0]
  expect([long(300)?.slice(0, 17), long(300)?.includes('more'), long(301)?.slice(-22)]).toEqual([
    'gray 1   ?\\u{1b}x',
    false,
    'x… (1 more characters)',
  ])
  expect(texts(change(0), 5)).toEqual([])
  expect([
    changeTitle(change(1)),
    changeTitle(change(1, { isNew: true })),
    changeTitle(change(1, { isNew: true, added: 1, path: 'a\u001b' })),
  ]).toEqual([...['src/a.ts (+2 −1)', 'src/a.ts (new, 2 lines)', 'a\\u{1b} (new, 1 line)']])
})

test('keys edit the line', () => {
  const start: Line = { ...lineAfter(['old', 'older']), text: 'one twoé👨‍👩‍👧', cursor: 8 }
  const press = (line: Line, input: string, key: Key = {}) => applyKey(line, { input, key })
  const shown = ({ text, cursor, at, isPasting }: Line) =>
    `${text.slice(0, cursor)}|${text.slice(cursor)} ${at} ${isPasting}`
  const keys: readonly [string, Key][] = [
    ...[
      'upArrow',
      'downArrow',
      'leftArrow',
      'rightArrow',
      'home',
      'end',
      'return',
      'backspace',
      'delete',
      'escape',
      'tab',
      'meta',
    ].map((name): [string, Key] => ['', { [name]: true }]),
    ...['a', 'e', 'u', 'k', 'w', 'x'].map((input): [string, Key] => [input, { ctrl: true }]),
    ...['x', 'a\r\nb\rc\u0007', '[200~', '[201~'].map((input): [string, Key] => [input, {}]),
  ]
  expect(
    keys.map(
      ([input, key]) => `${JSON.stringify(input)} ${Object.keys(key)} → ${shown(press(start, input, key))}`,
    ),
  ).toMatchInlineSnapshot(`
    [
      """ upArrow → older| 1 false",
      """ downArrow → one twoé|👨‍👩‍👧 2 false",
      """ leftArrow → one two|é👨‍👩‍👧 2 false",
      """ rightArrow → one twoé👨‍👩‍👧| 2 false",
      """ home → |one twoé👨‍👩‍👧 2 false",
      """ end → one twoé👨‍👩‍👧| 2 false",
      """ return → one twoé
    |👨‍👩‍👧 2 false",
      """ backspace → one two|👨‍👩‍👧 2 false",
      """ delete → one two|👨‍👩‍👧 2 false",
      """ escape → one twoé|👨‍👩‍👧 2 false",
      """ tab → one twoé|👨‍👩‍👧 2 false",
      """ meta → one twoé|👨‍👩‍👧 2 false",
      ""a" ctrl → |one twoé👨‍👩‍👧 2 false",
      ""e" ctrl → one twoé👨‍👩‍👧| 2 false",
      ""u" ctrl → |👨‍👩‍👧 2 false",
      ""k" ctrl → one twoé| 2 false",
      ""w" ctrl → one |👨‍👩‍👧 2 false",
      ""x" ctrl → one twoé|👨‍👩‍👧 2 false",
      ""x"  → one twoéx|👨‍👩‍👧 2 false",
      ""a\\r\\nb\\rc\\u0007"  → one twoéa
    b
    c|👨‍👩‍👧 2 false",
      ""[200~"  → one twoé|👨‍👩‍👧 2 true",
      ""[201~"  → one twoé|👨‍👩‍👧 2 false",
    ]
  `)
  const pasting = press(start, '[200~')
  expect([shown(press(pasting, 'a', { ctrl: true })), shown(press(pasting, '[201~'))]).toEqual([
    'one twoéa|👨‍👩‍👧 2 true',
    'one twoé|👨‍👩‍👧 2 false',
  ])
  const up = press(press(start, '', { upArrow: true }), '', { upArrow: true })
  const back = press(press(press(up, '', { upArrow: true }), '', { downArrow: true }), '', {
    downArrow: true,
  })
  expect([shown(up), shown(back)]).toEqual(['old| 0 false', 'one twoé👨‍👩‍👧| 2 false'])
  expect([underCursor(start), underCursor(back)]).toEqual(['👨‍👩‍👧', ''])
  expect(shown(press({ ...start, cursor: 0 }, '', { leftArrow: true }))).toBe('|one twoé👨‍👩‍👧 2 false')
  expect(press({ ...start, text: 'a  bc  ', cursor: 7 }, 'w', { ctrl: true }).text).toBe('a  ')
  expect(
    [
      submitLine({ ...start, text: 'new' }),
      submitLine({ ...start, text: 'older' }),
      submitLine({ ...start, text: ' ' }),
      clearLine(start),
    ].map(({ history, at, text }) => [history.length, at, text]),
  ).toEqual([
    ...[
      [3, 3, ''],
      [2, 2, ''],
      [2, 2, ''],
      [2, 2, ''],
    ],
  ])
  const split = (input: string, key: Key = {}, line = start) =>
    pressesIn(input, key, line).map((one) => `${one.input}${Object.keys(one.key)}`)
  expect([
    split('ab\r'),
    split('\n'),
    split('a'),
    split('a\nb'),
    split('ab\u007f\u0003\t\b\u0000'),
    split('ab', { ctrl: true }),
    split('a\r', {}, pasting),
    split('ab\u001b'),
  ]).toEqual([
    ...[
      ['ab', 'return'],
      ['return'],
      ['a'],
      ['a\nb'],
      ['ab', 'backspace', 'cctrl', '\t', 'backspace', '\u0000'],
    ],
    ...[['abctrl'], ['a\r'], ['ab', '\u001b']],
  ])
})

test('keys send, stop, answer and exit', () => {
  const done: string[] = []
  const note = (name: string) => (word?: unknown) =>
    void done.push(word === undefined ? name : `${name} ${word}`)
  const chat = (state: object) =>
    ({
      state: () => state,
      quit: note('quit'),
      stay: note('stay'),
      wait: note('wait'),
      send: note('send'),
      interrupt: note('interrupt'),
      decide: note('decide'),
    }) as never
  const presses: readonly [string, Key, string, object?, boolean?, boolean?][] = [
    ...(['text', ''] as const).flatMap((text): [string, Key, string, object?][] => [
      ['c', { ctrl: true }, text],
      ['c', { ctrl: true }, text, { turn: {} }],
      ['d', { ctrl: true }, text],
      ['', { return: true }, text],
      ['', { return: true, meta: true }, text],
    ]),
    ...['hi', '/help', '/compact', '/compacted', '/model', '/model x', '/etc/hosts'].map(
      (text): [string, Key, string, object] => ['', { return: true }, text, { turn: {} }],
    ),
    ['', { return: true }, 'pasted', {}, true, true],
    ...['y', 'a', 'p', 'u', 'n', 'x'].map((input): [string, Key, string, object] => [
      input,
      {},
      'draft',
      { asking: {} },
    ]),
    ['', { escape: true }, '', { asking: {} }],
    ['', { escape: true, meta: true }, '', { asking: {} }],
    ['y', { meta: true }, '', { asking: {} }],
    ['y', { ctrl: true }, '', { asking: {} }],
    ['y', {}, '', { asking: {} }, false],
    ['y', {}, 'draft', { asking: {} }, false],
    ['', { return: true }, 'draft', { asking: {} }, false],
  ]
  const lines = presses.map(([input, key, text, state = {}, isReady = true, isPasting = false]) => {
    done.length = 0
    const line = { ...lineAfter([]), text, cursor: text.length, isPasting }
    const next = handlePress(chat(state), line, { input, key }, isReady)
    return `${input} ${Object.keys(key)} ${JSON.stringify(state)} ${isReady} "${text}" → ${JSON.stringify(next.text)} ${done}`
  })
  expect(lines).toMatchInlineSnapshot(`
    [
      "c ctrl {} true "text" → "" stay",
      "c ctrl {"turn":{}} true "text" → "text" interrupt",
      "d ctrl {} true "text" → "text" stay",
      " return {} true "text" → "" stay,send text",
      " return,meta {} true "text" → "text\\n" stay",
      "c ctrl {} true "" → "" interrupt",
      "c ctrl {"turn":{}} true "" → "" interrupt",
      "d ctrl {} true "" → "" quit",
      " return {} true "" → "" stay",
      " return,meta {} true "" → "\\n" stay",
      " return {"turn":{}} true "hi" → "hi" stay,wait hi",
      " return {"turn":{}} true "/help" → "" stay,send /help",
      " return {"turn":{}} true "/compact" → "/compact" stay,wait /compact",
      " return {"turn":{}} true "/compacted" → "" stay,send /compacted",
      " return {"turn":{}} true "/model" → "" stay,send /model",
      " return {"turn":{}} true "/model x" → "/model x" stay,wait /model x",
      " return {"turn":{}} true "/etc/hosts" → "/etc/hosts" stay,wait /etc/hosts",
      " return {} true "pasted" → "pasted\\n" stay",
      "y  {"asking":{}} true "draft" → "draft" decide once",
      "a  {"asking":{}} true "draft" → "draft" decide session",
      "p  {"asking":{}} true "draft" → "draft" decide project",
      "u  {"asking":{}} true "draft" → "draft" decide user",
      "n  {"asking":{}} true "draft" → "draft" decide no",
      "x  {"asking":{}} true "draft" → "draft" ",
      " escape {"asking":{}} true "" → "" decide no",
      " escape,meta {"asking":{}} true "" → "" decide no",
      "y meta {"asking":{}} true "" → "" ",
      "y ctrl {"asking":{}} true "" → "" ",
      "y  {"asking":{}} false "" → "" ",
      "y  {"asking":{}} false "draft" → "drafty" ",
      " return {"asking":{}} false "draft" → "draft" ",
    ]
  `)
})

test('the keys of a question break between two of them', () => {
  expect(choiceLines(true, 76)).toEqual([
    '[y] yes  [a] always in this session  [p] in this folder  [u] everywhere',
    '[n] no',
  ])
  expect(choiceLines(true, 100)).toHaveLength(1)
  expect(choiceLines(false, 76)).toEqual(['[y] yes  [n] no'])
})

test('questions are asked one at a time', async () => {
  const shown: (Question | undefined)[] = []
  const questions = createQuestions((question) => shown.push(question))
  const stop = new AbortController()
  let isAllowed = false
  const ask = (name: string, more: object = {}, signal = new AbortController().signal) =>
    questions.ask({
      ...{
        call: { id: name, name, input: { text: 'a\u001b', list: [1] } },
        agent: undefined,
        suggested: [`${name}(*)`],
        signal,
      },
      ...{ accesses: [], change: async () => undefined, isAllowed: () => isAllowed },
      ...more,
    } as unknown as PermissionQuestion)
  const last = () => {
    const question = shown.at(-1)
    return (
      question &&
      `${question.name} ${question.others} ${question.task} ${JSON.stringify(question.detail.map(({ spans }) => spans[0]))}`
    )
  }
  questions.decide('once')
  const accesses = [
    { path: '/in', kind: 'read', isInside: true, isLinked: false },
    { path: '/link', kind: 'write', isInside: true, isLinked: true },
    { path: '/out', kind: 'read', isInside: false, isLinked: true },
  ]
  const first = ask('First', {
    accesses,
    agent: { id: '1', name: 'Agent', input: { description: `${'t'.repeat(20)}\n${'t'.repeat(20)}` } },
  })
  await vi.waitFor(() => expect(shown).toHaveLength(1), 60_000)
  expect(last()).toMatchInlineSnapshot(
    `"First 0 tttttttttttttttttttt tttttttttttttttttt… [{"text":"by a link, changes: /link","color":"yellow"},{"text":"reads outside of the working folder: /out","color":"yellow"},{"text":"text: a\\\\u{1b}"},{"text":"list: [1]"}]"`,
  )
  const second = ask('Second', { suggested: [], change: async () => change(1) })
  const third = ask('Third', {
    script: { source: 'one\ntwo', calls: [{ name: 'a' }, { name: 'a' }, { name: 'b' }] },
  })
  const fourth = ask('Fourth', {}, stop.signal)
  await vi.waitFor(() => expect(shown).toHaveLength(4), 60_000)
  questions.decide('session')
  expect([await first, last()?.slice(0, 30)]).toMatchInlineSnapshot(`
    [
      "session",
      "Second 2 undefined [{"text":"s",
    ]
  `)
  questions.decide('project')
  expect(last()).toContain('Second 2')
  questions.decide('no')
  expect(await second).toBe('no')
  expect(last()).toMatchInlineSnapshot(
    `"Third 1 undefined [{"text":"text: a\\\\u{1b}"},{"text":"list: [1]"},{"text":"A script makes this call; \\"once\\" allows all its calls of this tool. The script:","color":"yellow"},{"text":"one"},{"text":"two"},{"text":"Its calls so far: a × 2, b × 1","color":"yellow"}]"`,
  )
  expect(hiddenIn(shown.at(-1)!, shown.at(-1)!.detail.slice(0, 2))).toBeGreaterThan(20)
  stop.abort()
  expect(await fourth).toEqual({ refusal: 'The user stopped this call.' })
  const fifth = ask('Fifth')
  await vi.waitFor(() => expect(last()).toContain('Third 1'), 60_000)
  isAllowed = true
  questions.decide('once')
  expect([await third, await fifth, last()]).toEqual(['once', 'once', undefined])
  expect(await ask('Sixth', {}, AbortSignal.abort())).toEqual({ refusal: 'The user stopped this call.' })
})

test('commands show and change the session', async () => {
  const done: string[] = []
  const rules: object[] = []
  const shelf = quietShelf({
    tools: [
      mcp('github', 'create_issue'),
      mcp('github', 'list_issues'),
      mcp('mail', `send_${'x'.repeat(40)}`),
      { name: 'Own' },
    ],
    toolSearch: true,
  })
  let statuses = [
    { name: 'slow', state: 'pending' },
    { name: 'broken', state: 'failed', reason: 'it ended' },
    { name: 'odd', state: 'failed' },
    { name: 'off', state: 'disabled' },
  ]
  const skills = [
    { name: 'pdf', description: 'First line\nsecond' },
    { name: 'n'.repeat(41), description: 'd'.repeat(101) },
  ]
  const agent = { model: 'm', messages: [{ role: 'user', content: 'hi' }], contextWindow: 1000, shelf }
  let isVerbose = false
  const context = {
    session: {
      ...{
        agent,
        shelf,
        file: '/none',
        host: { status: () => statuses },
        skills: { list: () => skills },
      },
      permissions: {
        rules: () => rules,
        keep: async (rule: object) => rules.push(rule),
        forget: async ({ rule, effect, scope }: { rule: string; effect: string; scope: string }) =>
          rule === 'Bash(ls)' && effect === 'allow' && scope !== 'user',
      },
    },
    directory: tmpdir(),
    lastRequest: () => undefined,
    isVerbose: () => isVerbose,
    setVerbose: (next: boolean) => {
      isVerbose = next
    },
    waiting: async (text: string, work: () => Promise<unknown>) => {
      done.push(text)
      return work()
    },
    compact: async () => void done.push('compact'),
    quit: () => done.push('quit'),
  } as unknown as CommandContext
  const lines: string[] = []
  const run = async (line: string) => {
    done.length = 0
    const output = await runSlash(line, context).catch((error: Error) => [`throws ${error.message}`])
    lines.push(
      `${line} → ${done}`,
      ...output.map((one) => (typeof one === 'string' ? `  ${one}` : `  ${one.lead}|${one.text}`)),
    )
  }
  const words = [
    ...[
      '/help',
      '/tools',
      '/context',
      '/search',
      '/search create issue',
      '/search zzz',
      '/skills',
      '/compact',
      '/model',
      '/model  next ',
    ],
    ...['/verbose', '/verbose', '/quit', '/exit', '/hepl', '/zzz', '/'],
    ...[
      '/permissions',
      '/permissions allow Bash(ls)',
      '/permissions deny user Read(.env)',
      '/permissions ask project  mcp__a__*',
      '/permissions',
    ],
    ...[
      '/permissions allow',
      '/permissions allow (',
      '/permissions remove Bash(ls) ',
      '/permissions remove Bash(x)',
      '/permissions other x',
    ],
  ]
  for (const line of words) await run(line)
  statuses = []
  skills.length = 0
  for (const line of ['/tools', '/search create issue', '/skills']) await run(line)
  await expect(lines.join('\n')).toMatchFileSnapshot('./chat/commands.txt')
  expect(['/', '/x y', '/x', 'x /y', '/a/b', ' /x'].map(isCommand)).toEqual([
    true,
    true,
    true,
    false,
    false,
    false,
  ])
  expect(['/', '/co', '/con', '/x', '/model x', 'm'].map(slashHint)).toMatchInlineSnapshot(`
    [
      "/tools  /context  /search  /permissions  /skills  /sessions  /compact  /model  /verbose  /help  /quit",
      "/context  /compact",
      "/context: show what fills the context window",
      "",
      "",
      "",
    ]
  `)
})

test('the window is measured by parts', () => {
  const shelf = quietShelf({ tools: [mcp('a', 'one'), mcp('a', 'two')], toolSearch: true })
  const request = {
    system: 's'.repeat(290),
    tools: [{ name: 't', input_schema: {} }],
    messages: [{ role: 'user', content: 'u'.repeat(2900) }],
  }
  const report = contextReport(request, shelf, ['mcp__a__one'], 2000)
  expect(contextLines(report, 'now')).toMatchInlineSnapshot(`
    [
      "55.9 % of 2,000 tokens, now:",
      "▓▓▓█▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒░░░░░░░░░░░░░░░░░░░░",
      "▓ system prompt                 100   5.0 %",
      "█ tools always there             18   0.9 %",
      "▆ tools loaded by search          0   0.0 %",
      "▒ conversation                1,000  50.0 %",
      "░ free                          882  44.1 %",
      "  deferred, not in it            34         1 tools on the shelf",
    ]
  `)
  expect(contextLines({ ...report, window: 500 }, 'now').slice(0, 2)).toMatchInlineSnapshot(`
    [
      "223.6 % of 500 tokens, now:",
      "▓▓▓▓▓▓▓▓▓▓██▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒",
    ]
  `)
  expect(contextReport({ messages: [] }, shelf, [], 10).parts.map(({ label }) => label)).not.toContain(
    'system prompt',
  )
  expect(conversationTokens(request)).toBe(
    contextReport(request, shelf, [], 10)
      .parts.slice(2)
      .reduce((sum, { tokens }) => sum + tokens, 0),
  )
})

test('reports servers when they change', async () => {
  const told: string[] = []
  const note = (name: string) => (line: unknown) => void told.push(`${name} ${JSON.stringify(line)}`)
  let statuses: object[] = []
  let look = () => {}
  let settled = () => {}
  const host = {
    status: () => statuses,
    listen: (listener: () => void) => {
      look = listener
      return () => {}
    },
    settled: () =>
      new Promise<void>((resolve) => {
        settled = resolve
      }),
  }
  const server = (name: string, state: string, more: object = {}) => ({ name, state, tools: [1, 2], ...more })
  const next = (...given: object[]) => {
    statuses = given
    look()
  }
  statuses = [server('a', 'pending'), server('b', 'pending')]
  watchServers(host as never, { show: note('show'), notify: note('tell'), warn: note('warn') })
  next(server('a', 'connected'), server('b', 'failed', { reason: 'it ended.' }))
  next(
    server('a', 'connected'),
    server('b', 'pending'),
    server('c', 'idle', { isCached: true }),
    server('d', 'idle'),
  )
  settled()
  await Promise.resolve()
  await Promise.resolve()
  next(server('a', 'failed'), server('b', 'failed', { reason: 'it ended.' }), server('e', 'connected'))
  next(server('a', 'connected'), server('b', 'connected'), server('e', 'connected'))
  next(server('a', 'idle', { reason: 'gone' }))
  expect(told).toMatchInlineSnapshot(`
    [
      "show "servers: 2 starting"",
      "show "servers: 1 failed"",
      "warn "b failed: it ended."",
      "show "servers: 1 starting"",
      "show "servers: 1 starting"",
      "tell {"lead":"Servers   ","text":"a 2, c 2 (tools)"}",
      "show "servers: 2 failed"",
      "warn "a disconnected. Its tools work again when it reconnects."",
      "tell "e is there"",
      "show """,
      "tell "a is back"",
      "tell "b is back"",
      "show """,
      "warn "a disconnected: gone. Its tools work again when it reconnects."",
    ]
  `)
})

test('a resumed session shows its last exchange', () => {
  const reply = {
    role: 'assistant',
    content: [{ type: 'text', text: ' Hello' }, use('1', 'Read'), { type: 'text', text: 5 }],
  }
  const messages = [
    { role: 'user', content: 'first' },
    { role: 'assistant', content: 'x' },
    { role: 'user', content: 'hi' },
    reply,
    { role: 'user', content: [result('1', 'c')] },
  ]
  expect(
    [resumedItems([]), resumedItems(messages), resumedItems([reply])].map(textOf),
  ).toMatchInlineSnapshot(`
    [
      [],
      [
        "output {} Resumed   5 messages; the last of them:",
        "user {} hi",
        "said {"isOpen":false} Hello",
        "summary {} Read 1 file",
      ],
      [
        "output {} Resumed   1 messages; the last of them:",
        "said {"isOpen":false} Hello",
        "summary {} Read 1 file",
      ],
    ]
  `)
  expect(partsOf(messages).map(({ kind }) => kind)).toEqual(['said', 'said', 'call'])
})

test('typed lines are kept, newest last, except those that begin with a space', () => {
  const folder = mkdtempSync(join(tmpdir(), 'typed-'))
  try {
    const lines = openTypedLines(join(folder, 'new'))
    expect(lines.read()).toEqual([])
    for (const line of ['one', 'two', 'two', ' secret', 'x'.repeat(10_001), 'one']) lines.keep(line)
    expect(lines.read()).toEqual(['one', 'two', 'one'])
    const file = join(folder, 'new', 'typed-lines')
    writeFileSync(file, `${readFileSync(file, 'utf8')}{\n5\n${'"y"\n'.repeat(200)}`)
    lines.keep('x'.repeat(10_000))
    expect([lines.read().length, lines.read()[0], lines.read().at(-1)?.length]).toEqual([200, 'y', 10_000])
    writeFileSync(join(folder, 'file'), '')
    const broken = openTypedLines(join(folder, 'file'))
    broken.keep('x')
    expect(broken.read()).toEqual([])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
