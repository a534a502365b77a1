// `toolshelf run` before an API that does not behave: it ends, says why in a sentence, and the terminal is not steered.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { runHere } from '../../packages/testkit/src/cli-here.ts'
import { heardFrom } from '../../packages/testkit/src/heard.ts'
import { binary, newPlace } from '../terminal/support.ts'

const begin = { type: 'message_start', message: { type: 'message', role: 'assistant', content: [] } }
const end = (stop_reason: string) => ({ type: 'message_delta', delta: { stop_reason } })
const begun = (index: number, content_block: object) => ({
  type: 'content_block_start',
  index,
  content_block,
})
const piece = (index: number, text: string) => ({
  type: 'content_block_delta',
  index,
  delta: { type: 'text_delta', text },
})

const stream = (response: ServerResponse, ...events: { type: string }[]) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''))
}

type Answer = (response: ServerResponse, request: number) => void

/** What a run says in front of an API that answers so; `request` counts from 0. */
async function runBefore(answer: Answer) {
  const { place, words } = await placeBefore(answer)
  return runHere(place, words)
}

/** The same as a process, for what Node itself would print. */
async function startBefore(answer: Answer) {
  const { place, words } = await placeBefore(answer)
  const child = spawn(process.execPath, [...binary, ...words], {
    cwd: place.folder,
    env: { ...place.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const heard = heardFrom(child)
  const [code] = await once(child, 'close')
  return { code, out: heard.out(), told: heard.told() }
}

async function placeBefore(answer: Answer) {
  let requests = 0
  const server = createServer((request, response) => {
    request.resume().on('end', () => answer(response, requests++))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const place = newPlace({ ANTHROPIC_API_KEY: 'key' })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { place, words: ['run', 'hello', '--base-url', url] }
}

it('takes blocks by whatever index they have', async () => {
  const last = 4_294_967_290
  const { code, out } = await runBefore((response) =>
    stream(response, begin, begun(last, { type: 'text', text: '' }), piece(last, 'There.'), end('end_turn')),
  )
  expect({ code, out }).toEqual({ code: 0, out: 'There.\n' })
})

it('writes nothing to the terminal that it does not understand', async () => {
  const { code, told } = await runBefore((response, request) => {
    if (request > 0) return stream(response, begin, begun(0, { type: 'text', text: '' }), end('end_turn'))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end('event: message_start\ndata: {\u001b]0;title\u0007 oops\n\n')
  })
  expect(code).toBe(0)
  expect(told).not.toMatch(/title|oops/)
  expect(told).toContain('Trying again.')
})

it('runs many calls at once without a warning', async () => {
  const calls = Array.from({ length: 30 }, (_, index) =>
    begun(index, { type: 'tool_use', id: `toolu_${index}`, name: 'Glob', input: { pattern: '*.none' } }),
  )
  const { code, told } = await startBefore((response, request) =>
    request === 0
      ? stream(response, begin, ...calls, end('tool_use'))
      : stream(response, begin, begun(0, { type: 'text', text: '' }), end('end_turn')),
  )
  expect({ code, told }).toEqual({ code: 0, told: '' })
})

it('reports the beginning of an endless error', async () => {
  const { code, told } = await runBefore((response) => {
    response.writeHead(400, { 'content-type': 'text/html' })
    response.end(`<html>wrong ${'x'.repeat(100_000)}`)
  })
  expect(code).toBe(1)
  expect(told).toContain('wrong xxx')
  expect(told).toContain('(status 400)')
  expect(told.length).toBeLessThan(2000)
})
