// Finished parts of a turn scroll away while the turn continues: nothing twice, nothing lost, in order.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AgentEvent } from '../../packages/agent/src/types.ts'
import { type Item, itemLines } from '../../packages/cli/src/chat/items.ts'
import { applyEvent, finalItems, newTurn, settle, withAside } from '../../packages/cli/src/chat/turn.ts'
import { runs } from '../../packages/testkit/src/runs.ts'
import { newPlace, openHere } from './support.ts'

/** What happens in a turn: an event, or a notice in between. */
type Step = AgentEvent | { readonly type: 'aside'; readonly text: string }

/** All that is seen once the turn is over, and how much of it stood there for good before that. */
function shown(steps: readonly Step[], isVerbose: (step: number) => boolean, isSettling = true) {
  const gone: Item[] = []
  let turn = newTurn()
  steps.forEach((step, index) => {
    turn =
      step.type === 'aside' ? withAside(turn, { kind: 'output', text: step.text }) : applyEvent(turn, step)
    if (!isSettling) return
    const { items, parts, isBegun } = settle(turn.parts, isVerbose(index))
    gone.push(...items)
    turn = { ...turn, parts, isBegun: turn.isBegun || isBegun }
  })
  const rest = finalItems(turn.parts, isVerbose(steps.length))
  return { items: [...gone, ...rest], gone }
}

const drawn = (items: readonly Item[], isPlain: boolean) =>
  items.flatMap((item) => itemLines(item, { columns: 60, isPlain }))

const line = fc.oneof(
  fc.constantFrom(
    '',
    '',
    '  ',
    '```',
    '```js',
    '  ```',
    '~~~',
    '| a | b |',
    '|---|--:|',
    '| 1 | 2 |',
    '- item',
  ),
  fc.constantFrom('**bold** words', '# Title', '    far in', 'a | b', '> quoted', '`code', '\tin', 'x\r'),
  fc.integer({ min: 1, max: 999 }).map((number) => `word${number}`),
)
const words = fc.array(line, { minLength: 1, maxLength: 14 }).map((lines) => lines.join('\n'))

/** In pieces, as it streams. */
const speech = fc
  .tuple(fc.constantFrom('text', 'thinking'), words, fc.integer({ min: 1, max: 9 }))
  .map(([type, text, size]) => ({
    block: type === 'text' ? { type, text } : { type, thinking: text },
    events: (text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []).map((piece) => ({ type, text: piece })),
  }))
const names = fc.constantFrom('Read', 'Grep', 'ToolSearch', 'Bash', 'Agent')
const failure = { type: 'retry', reason: 'busy', attempt: 1, attempts: 5, milliseconds: 1 }

const reply = fc
  .record({
    speeches: fc.array(speech, { maxLength: 3 }),
    calls: fc.array(fc.record({ name: names, isFailed: fc.boolean(), isLate: fc.boolean() }), {
      maxLength: 4,
    }),
    asides: fc.array(fc.tuple(fc.nat(), fc.constantFrom('told one', 'told two')), { maxLength: 2 }),
    hasFailed: fc.boolean(),
    id: fc.uuid(),
  })
  .map(({ speeches, calls, asides, hasFailed, id }) => {
    const uses = calls.map(({ name }, at) => ({ id: `${id}-${at}`, name, input: { at } }))
    const results = calls.map(({ isFailed, isLate }, at) => ({
      isLate,
      event: {
        type: 'result',
        call: uses[at],
        result: { type: 'tool_result', tool_use_id: `${id}-${at}`, content: 'came', is_error: isFailed },
        loaded: [],
      },
    }))
    const content = [
      ...speeches.map(({ block }) => block),
      ...uses.map((use) => ({ type: 'tool_use', ...use })),
    ]
    const steps: object[] = [
      { type: 'request' },
      ...(hasFailed ? [failure, { type: 'request' }] : []),
      ...speeches.flatMap(({ events }) => events),
      { type: 'reply', content, usage: { input: 1, cached: 0, output: 1 } },
      ...uses.map((call) => ({ type: 'call', call })),
      ...results.filter(({ isLate }) => !isLate).map(({ event }) => event),
      ...results.filter(({ isLate }) => isLate).map(({ event }) => event),
    ]
    for (const [at, text] of asides) steps.splice(at % (steps.length + 1), 0, { type: 'aside', text })
    return steps as Step[]
  })

const turns = fc.array(reply, { maxLength: 4 }).map((replies) => replies.flat())

describe('what is certain of a turn', () => {
  it('and what is left of it are what is shown of the whole', () => {
    fc.assert(
      fc.property(turns, fc.boolean(), fc.boolean(), (steps, isVerbose, isPlain) => {
        const whole = shown(steps, () => isVerbose, false)
        const settled = shown(steps, () => isVerbose)
        expect(drawn(settled.items, isPlain)).toEqual(drawn(whole.items, isPlain))
      }),
      { numRuns: runs(120) },
    )
  })

  it('says everything once and in order, however often /verbose is switched', () => {
    fc.assert(
      fc.property(turns, fc.infiniteStream(fc.boolean()), (steps, switches) => {
        const verbose = [...switches.take(steps.length + 1)]
        const said = (items: readonly Item[]) =>
          items.filter(({ kind }) => kind === 'said' || kind === 'output').map(({ text }) => text.split('\n'))
        const filled = (lines: readonly string[]) => lines.map((one) => one.trim()).filter(Boolean)
        const whole = shown(steps, () => false, false)
        const settled = shown(steps, (index) => verbose[index] ?? false)
        expect(filled(said(settled.items).flat())).toEqual(filled(said(whole.items).flat()))
      }),
      { numRuns: runs(60) },
    )
  })

  it('leaves early: whole lines, answered calls, and rows of calls that something follows', () => {
    const say = (text: string): Step => ({ type: 'text', text })
    const gone = (...steps: Step[]) => shown(steps, () => false).gone.map(({ text }) => text)
    expect(gone(say('one\ntwo\nthr'))).toEqual(['one\ntwo'])
    expect(gone(say('one\n\n'))).toEqual([])
    expect(gone(say('one\n```\na\nb\nc\nd'))).toEqual(['one\n```\na\nb'])
    expect(gone(say('one\n| a |\n|---|\n| b |\n| c'))).toEqual(['one'])
    const use = { id: 'a', name: 'Read', input: {} }
    const usage = { input: 1, cached: 0, output: 1 }
    const content = [
      { type: 'text', text: 'one' },
      { type: 'tool_use', ...use },
    ]
    const read: Step[] = [
      say('one'),
      { type: 'reply', content, usage, stopReason: 'tool_use' },
      { type: 'call', call: use },
    ]
    expect(gone(...read)).toEqual(['one'])
    const result: Step = {
      type: 'result',
      call: use,
      result: { type: 'tool_result', tool_use_id: 'a', content: 'came' } as never,
      loaded: [],
    }
    expect(gone(...read, result)).toEqual(['one'])
    expect(gone(...read, result, say('two'))).toEqual(['one', 'Read 1 file'])
  })

  it('puts text that follows a call behind the call', () => {
    const use = { id: 'a', name: 'Bash', input: {} }
    const said = (text: string) => ({ type: 'text', text })
    const steps: Step[] = [
      { type: 'text', text: 'before' },
      { type: 'text', text: 'behind' },
      {
        type: 'reply',
        content: [said('before'), { type: 'tool_use', ...use }, said('behind')],
        usage: { input: 1, cached: 0, output: 1 },
        stopReason: 'tool_use',
      },
    ]
    const { items } = shown(steps, () => false)
    expect(items.map(({ text }) => text)).toEqual(['before', '● Bash()', 'behind'])
  })

  it('reports that an answer begins anew if it broke off when some of it had scrolled away', () => {
    const retry = failure as Step
    const texts = (...steps: Step[]) => shown(steps, () => false).items.map(({ text }) => text)
    expect(texts({ type: 'text', text: 'one' }, retry)).toEqual(['busy. Trying again.'])
    expect(texts({ type: 'text', text: 'one\ntwo' }, retry)).toEqual([
      'one',
      'busy. Trying again. The answer above broke off and starts again.',
    ])
  })
})

const LINES = Array.from({ length: 60 }, (_, index) => `reason ${index + 1}`)

describe('a long answer in a small terminal', () => {
  async function chat(rules: object[], delay = 0) {
    const place = newPlace()
    const script = place.file('script.json', { delay, rules })
    const screen = openHere(place, ['chat', '--script', script], { columns: 80, rows: 24 })
    await screen.shows(/Servers +none/)
    await screen.enter('go')
    const reasons = () =>
      screen
        .scrolled()
        .split('\n')
        .filter((one) => /^(│ )?reason \d+$/.test(one))
    return { ...screen, reasons }
  }

  it('can be read in full before a question is answered', async () => {
    const bash = { call: 'Bash', input: { command: 'true' } }
    const screen = await chat([{ do: [{ say: LINES.join('\n') }, bash, { say: 'Over.' }] }])
    await screen.shows('[y] yes')
    expect(screen.reasons()).toEqual(LINES)
    screen.type('y')
    await screen.shows(/Over\..*\d out/s)
    expect(screen.reasons()).toEqual(LINES)
    expect(screen.scrolled().match(/● Bash/g)).toHaveLength(1)
  })

  it('can be read from its beginning while it comes, code too', async () => {
    const screen = await chat([{ do: [{ say: `\`\`\`\n${LINES.join('\n')}\n\`\`\`` }] }], 40)
    await screen.shows('reason 40')
    expect(screen.text()).toContain('answering')
    expect(screen.reasons().slice(0, 40)).toEqual(LINES.slice(0, 40).map((one) => `│ ${one}`))
    await screen.shows(/reason 60.*\d out/s)
    expect(screen.reasons()).toEqual(LINES.map((one) => `│ ${one}`))
  })
})
