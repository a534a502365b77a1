// A model that means no good, in a chat: the screen stays alive, and a person sees what is asked.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { eventsOf } from '../../src/reply.ts'
import { newPlace, noTerminal, open, type Screen, type Size } from './support.ts'

type Block = { readonly type: string; readonly [field: string]: unknown }

const text = (said: string): Block => ({ type: 'text', text: said })
const call = (name: string, input: object, id = 'toolu_1'): Block => ({ type: 'tool_use', id, name, input })

/** An API that streams these replies, one a request, and then says that it is over. */
async function model(...replies: readonly (readonly Block[])[]): Promise<string> {
  const left = [...replies]
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const content = left.shift() ?? [text('It is over.')]
      const stop_reason = content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn'
      const message = {
        type: 'message',
        role: 'assistant',
        content,
        stop_reason,
        usage: { output_tokens: 7 },
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const event of eventsOf(message))
        response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      response.end()
    })
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function chat(url: string, words: readonly string[] = [], size: Size = {}): Promise<Screen> {
  const screen = open(newPlace({ ANTHROPIC_API_KEY: 'key' }), ['chat', '--base-url', url, ...words], size)
  await screen.shows(/Servers +none/)
  await screen.enter('hello')
  return screen
}

describe.skipIf(noTerminal)('a hostile model', () => {
  it.each([
    ['lines', `begin${'\n'.repeat(200_000)}`],
    ['a table', `|a|\n|-|\n${'|x|\n'.repeat(150_000)}`],
    ['a line', 'x'.repeat(1_000_000)],
    ['marks', '(__a'.repeat(50_000)],
  ])('%s without end do not end the chat', async (_, endless) => {
    const screen = await chat(await model([text(`${endless}end`)]))
    await screen.shows('more characters, which are not shown')
    await screen.shows(/\d out/)
    await screen.enter('more')
    await screen.shows('It is over.')
  })
})
