// What is loaded stays loaded: through compactions, a transcript on disk, and one that is damaged.
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import {
  mendTranscript,
  openTranscript,
  readTranscript,
  type SavedConversation,
} from '../../packages/agent/src/transcript.ts'
import type { State } from '../../packages/core/src/types.ts'
import {
  echo,
  endOf,
  heard,
  lines,
  type Model,
  over,
  refusals,
  runnerOn,
  said,
  scripted,
  serverTools,
  shelfWith,
  whole,
} from './support.ts'

const FORECAST = 'mcp__weather__forecast'
const script = scripted(
  { when: 'forecast', do: [{ call: '/forecast$/', input: { city: 'Oslo' } }, { say: '{{result}}' }] },
  { when: 'echo', do: [{ call: 'Echo', input: { text: 'hi' } }, { say: '{{result}}' }] },
  { do: [{ say: 'ok' }] },
)
const tools = [echo('Echo')]

function start(model: Model, more: object = {}, state?: State) {
  const shelf = shelfWith(serverTools('weather', 'forecast', 'alerts'), state ? { state } : {})
  const runner = runnerOn(shelf)
  return { ...over(model, { shelf, runner, tools, ...more }), runner }
}

test('a person can compact, and the trigger is noted', async () => {
  const talk = start(whole(script))
  for (const text of ['forecast', 'echo']) await said(talk.agent, text)
  expect(lines(await heard(talk.agent.compact()))).toEqual(['compacted'])
  expect(talk.agent.messages[0]).toMatchObject({
    compactMetadata: { trigger: 'manual', loadOrder: [FORECAST, 'mcp__weather__alerts'] },
  })
  await said(talk.agent, 'forecast')
  expect(talk.runner.ran).toHaveLength(2)
  expect(refusals(talk)).toEqual([])
})

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'toolshelf-agent-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** A conversation with a loaded tool, two compactions and an edit in its transcript. */
async function saved(model: Model): Promise<string> {
  const file = join(folder(), 'below', 'talk.jsonl')
  const transcript = openTranscript(file, (message) => expect.fail(message))
  const talk = start(model, {
    onHistory: (change: never) => {
      transcript.write(change)
      transcript.write({ type: 'state', state: talk.shelf.state() })
    },
  })
  for (const text of ['forecast', 'echo', 'hello']) await said(talk.agent, text)
  await heard(talk.agent.compact())
  for (const text of ['echo', 'hello']) await said(talk.agent, text)
  expect(readTranscript(file)).toEqual({
    messages: JSON.parse(JSON.stringify(talk.agent.messages)),
    state: JSON.parse(JSON.stringify(talk.shelf.state())),
    lost: 0,
  })
  return file
}

function resume(model: Model, { messages, state }: SavedConversation) {
  return start(model, { messages }, state)
}

test('a transcript cut anywhere, or without any one of its lines, is a history that the API takes', async () => {
  const model = whole(script)
  const file = await saved(model)
  const text = readFileSync(file, 'utf8')
  const all = text.trimEnd().split('\n')
  const damaged = join(folder(), 'damaged.jsonl')
  const goesOn = async (content: string, about: string) => {
    writeFileSync(damaged, content)
    const talk = resume(model, readTranscript(damaged))
    expect(endOf(await said(talk.agent, 'hello')).reason, about).toBe('done')
  }
  for (let size = 0; size < text.length; size += 977) await goesOn(text.slice(0, size), `${size} bytes`)
  for (const [index] of all.entries())
    await goesOn(`${all.filter((_, other) => other !== index).join('\n')}\n`, `without line ${index}`)
  expect(refusals(model)).toEqual([])
})

test('a session that went on in two places at once is one that the API takes', async () => {
  const rule = { when: 'ponder', do: [{ think: 'hm' }, { call: 'Echo' }, { say: '{{result}}' }] }
  const model = whole({ ...scripted(rule, { do: [{ say: 'ok' }] }), boundThinking: true })
  const file = join(folder(), 'talk.jsonl')
  const transcript = openTranscript(file, () => {})
  const bound = { model: 'claude-opus-5-5', onHistory: (change: never) => transcript.write(change) }
  const places = ['ponder this', 'ponder that'].map((text) => start(model, bound).agent.send(text))
  for (let isOver = false; !isOver; )
    isOver = (await Promise.all(places.map((place) => place.next()))).every(({ done }) => done)
  const { agent } = start(model, { ...bound, messages: readTranscript(file).messages })
  expect(endOf(await said(agent, 'hello'))).toEqual({ type: 'end', reason: 'done' })
})

test('messages that are none of ours are passed over', async () => {
  const file = join(folder(), 'talk.jsonl')
  const odd = [
    ...[{}, { role: 'tool', content: 'x' }, { role: 'user' }, { role: 'user', content: 5 }],
    ...[
      { role: 'user', content: ' ' },
      { role: 'user', content: [] },
      { role: 'user', content: [null] },
    ],
    ...[{ role: 'assistant', content: [{ type: 'text', text: '' }] }],
  ]
  const messages = [...odd, { role: 'user', content: 'hi' }, ...odd]
  appendFileSync(file, `${JSON.stringify({ type: 'append', messages })}\n`)
  const { agent } = start(whole(script), { messages: readTranscript(file).messages })
  expect(endOf(await said(agent, 'hello'))).toEqual({ type: 'end', reason: 'done' })
  expect(JSON.stringify(agent.messages)).toContain('"hi"')
})

test('reports, repairs and continues a file that was cut in half', async () => {
  const model = whole(script)
  const file = await saved(model)
  const text = readFileSync(file, 'utf8')
  const cut = text.slice(0, text.lastIndexOf('"append"') + 4)
  writeFileSync(file, cut)
  expect(readTranscript(file).lost).toBe(1)
  mendTranscript(file)
  openTranscript(file, () => {}).write({ type: 'append', messages: [{ role: 'user', content: 'on' }] })
  const { messages, lost } = readTranscript(file)
  expect(lost).toBe(1)
  expect(messages.at(-1)).toEqual({ role: 'user', content: 'on' })
  expect(readFileSync(file, 'utf8').startsWith(cut)).toBe(true)
})

test('reports an unwritable disk once, and again when it has recovered and fails anew', () => {
  const told: string[] = []
  const place = folder()
  const file = join(place, 'talk', 'talk.jsonl')
  const transcript = openTranscript(file, (message) => told.push(message))
  const entry = { type: 'append', messages: [{ role: 'user', content: 'hi' }] } as const
  rmSync(join(place, 'talk'), { recursive: true })
  transcript.write(entry)
  transcript.write(entry)
  expect(told).toEqual([expect.stringMatching(/^the conversation is not being saved: .*ENOENT/)])
  mkdirSync(join(place, 'talk'))
  transcript.write(entry)
  expect(readTranscript(file)).toMatchObject({ messages: entry.messages, lost: 1 })
})
