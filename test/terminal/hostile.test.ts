// A model that means no good, in a chat: the screen stays alive, and a person sees what is asked.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, it } from 'vitest'
import { itemLines } from '../../packages/cli/src/chat/items.ts'
import { plainText } from '../../packages/cli/src/chat/styled.ts'
import { eventsOf } from '../../packages/core/src/reply.ts'
import { sizeOf } from '../../packages/testkit/src/runs.ts'
import { keys, newPlace, noTerminal, open, openHere, shareScreen } from './support.ts'

type Block = { readonly type: string; readonly [field: string]: unknown }

const text = (said: string): Block => ({ type: 'text', text: said })
const call = (name: string, input: object, id = 'toolu_1'): Block => ({ type: 'tool_use', id, name, input })

const servers = new Set<Server>()
afterAll(() => {
  for (const server of servers) server.close()
})

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
  servers.add(server)
  await new Promise((resolve) => server.once('listening', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** More than a chat shows of a reply, which is 50,000. */
const endlessly = (text: string) => text.repeat(sizeOf({ quick: 60_000, full: 600_000 }) / text.length)

const endless = [
  ['lines', `begin${endlessly('\n')}`],
  ['a table', `|a|\n|-|\n${endlessly('|x|\n')}`],
  ['a line', endlessly('x')],
  ['marks', endlessly('(__a')],
] as const

const WIDE = `rm -rf / # ${'漢'.repeat(5000)}`
const NO_ROOM = 'echo a\u200bb\u{e0041}c\u200fd\u2028e\u00adf\u3164g'

/** Values within values. */
function deep(): unknown {
  let value: unknown = []
  for (let level = 0; level < 2000; level++) value = [value]
  return value
}

describe('a hostile model', () => {
  const shared = shareScreen(async () => {
    const over = [text('It is over.')]
    const replies = [...endless.map(([, said]) => [text(`${said}end`)]), over]
    for (const command of [WIDE, NO_ROOM, 'echo it ran', deep()])
      replies.push([call('Bash', { command }, `toolu_${replies.length}`)], over)
    const words = ['chat', '--base-url', await model(...replies)]
    const place = newPlace({ ANTHROPIC_API_KEY: 'key' })
    const screen = openHere(place, words, { rows: 40, isShared: true })
    await screen.shows(/Servers +none/)
    return screen
  })

  it.each(endless)('%s without end do not end the chat', async () => {
    const screen = shared()
    await screen.enter('go on')
    await screen.shows('more characters, which are not shown')
    await screen.shows(/\d out/)
  })

  it.each([
    ['said', 'a\n'.repeat(3000)],
    ['output', 'a\n'.repeat(10_000)],
    ['said', `\n${'a'.repeat(49_999)}`],
    ['said', 'a'.repeat(60_000)],
  ] as const)('of what is %s at most 3,000 lines and 50,000 characters are drawn', (kind, text) => {
    const drawn = (isOpen: boolean) =>
      itemLines({ kind, text, isOpen }, { columns: 80, isPlain: true }).map(plainText)
    const lines = text.split('\n')
    const first = lines.slice(0, 3000).join('\n').slice(0, 50_000)
    const left = text.length - first.length
    const remark = `… and ${left.toLocaleString('en-US')} more characters, which are not shown`
    expect(drawn(false)).toEqual([...first.split('\n'), ...(left > 0 ? [remark] : [])])
    expect(drawn(true).join('\n')).toBe(lines.slice(-3000).join('\n').slice(-50_000))
  })

  it('says more afterwards', async () => {
    const screen = shared()
    await screen.enter('more')
    await screen.shows('It is over.')
  })

  it('wide characters do not push a question out of sight', async () => {
    const screen = shared()
    await screen.enter('ask')
    expect(await screen.shows('[y] yes')).toMatch(/Allow Bash\?.*command: rm -rf/s)
    screen.type('n')
    await screen.shows('It is over.')
  })

  it('characters that take no room are seen in a question', async () => {
    const screen = shared()
    await screen.enter('ask')
    expect(await screen.shows('[y] yes')).toContain(
      'command: echo a\\u{200b}b\\u{e0041}c\\u{200f}d\\u{2028}e\\u{ad}f\\u{3164}g',
    )
    screen.type('n')
    await screen.shows('It is over.')
  })

  it('only the keys that are named answer: Ctrl-A and Ctrl-Y do not', async () => {
    const screen = shared()
    await screen.enter('ask')
    await screen.shows('[y] yes')
    for (const key of ['\u0001', '\u0019', '\u001ba', '\u001by']) screen.type(key)
    screen.type('n')
    expect(await screen.shows('It is over.')).toContain('does not allow this call')
  })

  it('a call of values within values costs that reply, not the session', async () => {
    const screen = shared()
    await screen.enter('ask')
    await screen.shows('levels deep')
    await screen.shows('It is over.')
    await screen.enter('more')
    await screen.shows(/> more\s+It is over\./)
  })

  it.skipIf(noTerminal)('cannot steer the terminal of a run whose stderr goes elsewhere', async () => {
    const url = await model([text('begin \u001b]0;title\u0007\u001b[2J end')])
    const place = newPlace({ ANTHROPIC_API_KEY: 'key' })
    const screen = open(place, ['run', 'hello', '--base-url', url], { stderr: 'told' })
    await screen.ended()
    await screen.shows(/begin .* end/)
    expect(screen.raw()).not.toContain('\u001b]0;')
    expect(screen.raw()).not.toContain('\u001b[2J')
  })
})

describe('a long line', () => {
  /** The terminal passes on 4 KB at a time; a busy machine takes long for all of them. */
  const PASTING = 100_000
  const length = sizeOf({ quick: 30_000, full: 300_000 })

  it('is erased word by word', { timeout: 4 * PASTING }, async () => {
    const screen = openHere(newPlace({ ANTHROPIC_API_KEY: 'key' }), ['chat'])
    await screen.shows(/Servers +none/)
    screen.type(keys.paste(`first ${'x'.repeat(length)} last`))
    await screen.shows('x last', PASTING)
    screen.type('\u0017')
    await screen.hides('last', PASTING)
    screen.type('\u0017')
    await screen.shows(/> first\s*$/m, PASTING)
  })
})
