// A running turn in a chat: events appear in order, commands are answered, the clock pauses for questions.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { itemLines } from '../../packages/cli/src/chat/items.ts'
import { type HeldModel, type HeldReply, startHeldModel } from './held-model.ts'
import { newPlace, openHere, rest, shareScreen } from './support.ts'

async function chat(words: readonly string[], place = newPlace()) {
  const screen = openHere(place, ['chat', ...words], { rows: 40, isShared: true })
  await screen.shows(/Servers +none/)
  return screen
}

async function scripted(script: object) {
  const place = newPlace()
  place.file('a.txt', 'alpha')
  return chat(['--script', place.file('script.json', script)], place)
}

const read = { call: 'Read', input: { path: 'a.txt' } }
const bash = (command: string) => ({ call: 'Bash', input: { command } })
const agent = { call: 'Agent', input: { description: 'look around', prompt: 'inner task' } }
const script = {
  call: 'RunScript',
  input: { script: 'const text = await tools.Read({ path: "a.txt" })\nreturn text.length' },
}
const fail = { fail: { status: 529, message: 'Too busy.', times: 3 } }
const quick = [
  { when: 'fail', do: [{ say: 'First.' }, read, fail, { say: 'Second.' }, read, { say: 'Third.' }] },
  { when: '^ask', do: [bash('true'), { say: 'Over.' }] },
  { when: 'inner task', do: [read, bash('sleep 1'), { say: 'Seen.' }] },
  { when: 'count', do: [script, { say: 'Counted.' }] },
  { when: 'delegate', do: [agent, { say: 'All over.' }] },
]

describe('a turn', () => {
  const shared = shareScreen(() => scripted({ rules: quick }))

  it('shows a failure that passes where it happened, and when it is tried again', async () => {
    const screen = shared()
    await screen.enter('fail')
    await screen.shows(
      /Too busy.*Trying again\.\n.*trying again in \d s \(attempt 2 of \d\) · \d+ s · Ctrl-C stops/s,
    )
    const text = await screen.shows(/Third\..*\d out/s)
    expect(text).toMatch(
      /First\.\n +Read 1 file\n +Too busy\. \(status 529\)\. Trying again\.\nSecond\.\n +Read 1 file\nThird\./,
    )
    expect(text).not.toContain('trying again in')
  })

  it('of a script shows what it runs and the calls it makes', async () => {
    const screen = shared()
    await screen.enter('count')
    const text = await screen.shows(/Counted\..*\d out/s)
    expect(text).toMatch(
      /● RunScript\n +│ const text = await tools\.Read\(\{ path: "a\.txt" \}\)\n +│ return text\.length\n +● Read\nCounted\./,
    )
  })

  it('does not count the time that a person takes to answer', async () => {
    const screen = shared()
    const began = Date.now()
    await screen.enter('ask')
    await screen.shows('[y] yes')
    const asked = Date.now()
    await rest(1000)
    const answered = Date.now()
    screen.type('y')
    const text = await screen.shows(/Over\..*\d out/s)
    const whole = Date.now() - began
    const told = Number(/(\d+\.\d) s · /.exec(text)?.[1]) * 1000
    expect(told).toBeLessThanOrEqual(whole - (answered - asked) + 50)
  })

  it('of a sub-agent shows what it runs and that it asks, and /verbose lists its calls', async () => {
    const screen = shared()
    await screen.enter('/verbose')
    await screen.shows('Calls are now shown with their results')
    await screen.enter('delegate')
    const asked = await screen.shows('[y] yes')
    expect(asked).toMatch(/Allow Bash\?.*A sub-agent asks: look around.*command: sleep 1/s)
    screen.type('y')
    await screen.shows(/running Agent: Bash · \d+ s/)
    const text = await screen.shows(/All over\..*\d out/s)
    expect(text).toMatch(
      /● Agent\(description: "look around", prompt: "inner task"\)\n {4}● Read\(path: "a.txt"\)\n {4}● Bash\(command: "sleep 1"\)\n {2}Seen\./,
    )
  })
})

const wordsBetween = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => `word${first + index}`).join(' ')

/** To "think" it thinks without waiting. */
function replyTo(body: string): HeldReply {
  const { messages } = JSON.parse(body) as { messages: unknown[] }
  const asked = [...JSON.stringify(messages).matchAll(/"(think again|think|go)"/g)].at(-1)?.[1]
  if (asked === 'go')
    return { kind: 'text', first: wordsBetween(0, 5), rest: ` ${wordsBetween(6, 59)}`, isHeld: true }
  const thought = { first: `I ponder ${wordsBetween(0, 5)}`, rest: ` ${wordsBetween(6, 19)}`, last: 'Done.' }
  return { kind: 'thinking', ...thought, isHeld: asked === 'think again' }
}

describe('a turn that takes its time', () => {
  let model: HeldModel
  beforeAll(async () => {
    model = await startHeldModel(replyTo)
  })
  afterAll(() => model.close())
  const shared = shareScreen(() => {
    const place = newPlace({ ANTHROPIC_API_KEY: 'key' })
    return chat(['--base-url', model.url, '--model', 'held'], place)
  })

  it('does not delay commands that only show something', async () => {
    const screen = shared()
    await screen.enter('go')
    await screen.shows('word2')
    await screen.enter('/tools')
    expect(await screen.shows(/Working set +Agent/)).toContain('Ctrl-C stops')
    await screen.enter('/search move a file')
    expect(await screen.shows(/Move +\S/)).toContain('Ctrl-C stops')
    await screen.enter('/model')
    expect(await screen.shows('The model is held.')).toContain('Ctrl-C stops')
    model.release()
    const text = await screen.shows(/\d out/)
    expect(text).toMatch(/word0.*word59.*> \/tools.*Working set.*> \/search.*> \/model/s)
    expect(text.match(/Working set/g)).toHaveLength(1)
  })

  it('keeps commands waiting that would change the conversation under it, and says so', async () => {
    const screen = shared()
    await screen.enter('go')
    await screen.shows('word2')
    for (const command of ['/compact', '/model another']) {
      await screen.enter(command)
      await screen.shows('This command cannot run during a turn')
      screen.type('\u0015')
      await screen.hides(`> ${command}`)
    }
    await screen.enter('/model another')
    await screen.shows('This command cannot run during a turn')
    model.release()
    await screen.shows(/\d out/)
    screen.type('\r')
    await screen.shows('The model is now another.')
  })

  it('/verbose shows what the model thinks, while it does and afterwards', async () => {
    const screen = shared()
    await screen.enter('think')
    expect(await screen.shows(/Done\..*\d out/s)).not.toContain('ponder')
    await screen.enter('/verbose')
    await screen.shows('Calls are now shown with their results')
    await screen.enter('think again')
    expect(await screen.shows(/I ponder/)).toContain('Ctrl-C stops')
    model.release()
    await screen.shows(/I ponder.*word19\n.*Done\..*\d out/s)
    const [line] = itemLines({ kind: 'thought', text: 'I ponder' }, { columns: 80, isPlain: false })
    expect(line?.spans).toMatchObject([{ text: 'I ponder', dim: true }])
  })

  it('/quit stops it, shows what it came to, and ends', async () => {
    const screen = shared()
    await screen.enter('go')
    await screen.shows('word2')
    await screen.enter('/quit')
    expect(await screen.ended()).toBe(0)
    expect(screen.scrolled()).toMatch(/word0 .*> \/quit\n +Stopped\.\n.*The session is saved\./s)
    expect(screen.scrolled()).not.toContain('Ctrl-C stops')
  })
})
