// The shelf's state in a transcript: written where it changed, and right behind every line.
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type HistoryChange, openTranscript, readTranscript } from '../../src/agent/index.ts'
import { echo, heard, over, runnerOn, said, scripted, served, serverTools, shelfWith } from './support.ts'

function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolshelf-transcript-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'talk.jsonl')
}

const fail = (message: string) => expect.fail(message)
const linesOf = (file: string) => readFileSync(file, 'utf8').trimEnd().split('\n')
const emptyState = shelfWith().state()
const hi = { type: 'append', messages: [{ role: 'user', content: 'hi' }] } as const

test('whatever line a session ends at, its state is the one that was there', async () => {
  const script = scripted(
    { when: 'forecast', do: [{ call: '/forecast$/', input: { city: 'Oslo' } }, { say: '{{result}}' }] },
    { when: 'echo', do: [{ call: 'Echo', input: { text: 'hi' } }, { say: '{{result}}' }] },
    { do: [{ say: 'ok' }] },
  )
  const file = newFile()
  const transcript = openTranscript(file, fail)
  const states: unknown[] = []
  const shelf = shelfWith(serverTools('weather', 'forecast', 'alerts'))
  const onHistory = (change: HistoryChange) => {
    transcript.write({ ...change, state: shelf.state() })
    states.push(JSON.parse(JSON.stringify(shelf.state())))
  }
  const runner = runnerOn(shelf)
  const { agent } = over(await served(script), { shelf, runner, tools: [echo('Echo')], onHistory })
  for (const text of ['hello', 'echo', 'forecast', 'echo']) await said(agent, text)
  await heard(agent.compact())
  await said(agent, 'forecast')

  const lines = linesOf(file)
  expect(lines).toHaveLength(states.length)
  const cut = newFile()
  for (const [index, state] of states.entries()) {
    writeFileSync(cut, `${lines.slice(0, index + 1).join('\n')}\n{"type":"append","mess`)
    expect(readTranscript(cut).state, `line ${index}`).toEqual(state)
  }
  const written = lines.filter((line) => 'state' in JSON.parse(line))
  expect(written.length).toBeGreaterThan(1)
  expect(written.length).toBeLessThan(lines.length / 2)
})

test('a state that says the same is not written again, alone or with a change', () => {
  const file = newFile()
  const transcript = openTranscript(file, fail)
  const other = { ...emptyState, betas: ['one'] }
  for (const state of [emptyState, { ...emptyState, betas: [] }, other, { ...emptyState, betas: ['one'] }])
    transcript.write({ ...hi, state })
  transcript.write({ type: 'state', state: { ...other } })
  transcript.write({ type: 'state', state: emptyState })
  const states = linesOf(file).map((line) => JSON.parse(line).state?.betas)
  expect(states).toEqual([[], undefined, ['one'], undefined, []])
  expect(readTranscript(file)).toMatchObject({ state: emptyState, lost: 0 })
})

test('a state that could not be written is written with the next line', () => {
  const file = newFile()
  const transcript = openTranscript(file, () => {})
  const folder = join(file, '..')
  rmSync(folder, { recursive: true })
  transcript.write({ ...hi, state: emptyState })
  openTranscript(file, fail)
  transcript.write({ ...hi, state: emptyState })
  expect(readTranscript(file)).toMatchObject({ state: emptyState, messages: [{ content: 'hi' }] })
})

test('a change with something else for a state is lost, and the rest counts', () => {
  const file = newFile()
  openTranscript(file, fail).write({ ...hi, state: emptyState })
  appendFileSync(file, `${JSON.stringify({ ...hi, state: 5 })}\n`)
  expect(readTranscript(file)).toMatchObject({ state: emptyState, messages: [{ content: 'hi' }], lost: 1 })
})
