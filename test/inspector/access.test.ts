// Who may use the inspector: a web page of another site, another program of the machine and a guesser may not.
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { endpoints } from '../../packages/inspector/src/api.ts'
import { answerNode } from '../../packages/server/src/http/http.ts'
import { HOST, KEY, openTestInspector, record } from './support/inspector.ts'

const posts = [endpoints.search, endpoints.hint, endpoints.serverAction, endpoints.pins, endpoints.export]
const gets = Object.values(endpoints).filter((path) => !posts.some((post) => post === path))

describe('the key', () => {
  it('is needed for every endpoint, and for no file', async () => {
    const { ask } = openTestInspector()
    for (const path of gets) expect((await ask(path, { key: false })).status, path).toBe(401)
    for (const path of posts) expect((await ask(path, { key: false, body: {} })).status, path).toBe(401)
    for (const path of ['', 'page.js', 'page.css'])
      expect((await ask(path, { key: false })).status, path).toBe(200)
  })

  it('is not taken from the address or a cookie, which another page could make a browser send', async () => {
    const { ask } = openTestInspector()
    expect((await ask(`${endpoints.about}?key=${KEY}`, { key: false })).status).toBe(401)
    const cookie = { cookie: `key=${KEY}; authorization=Bearer ${KEY}` }
    expect((await ask(endpoints.about, { key: false, headers: cookie })).status).toBe(401)
  })
})

describe('other sites', () => {
  const foreign = {
    'another site': { origin: 'https://evil.test' },
    'another port of this machine': { origin: 'http://127.0.0.1:9999' },
    'a file or a sandbox': { origin: 'null' },
    'a page that hides its origin': { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
    'a neighbour on the same host': { 'sec-fetch-site': 'same-site' },
    'a name that leads here (DNS rebinding)': { host: 'evil.test:4711' },
    'a name that looks like ours': { host: '127.0.0.1.evil.test' },
    'no host at all': { host: '' },
  }
  it.each(Object.entries(foreign))('%s is refused, even with the key', async (_, headers) => {
    const { ask } = openTestInspector()
    expect((await ask(endpoints.about, { headers })).status).toBe(403)
    expect((await ask(endpoints.export, { headers, body: {} })).status).toBe(403)
    expect((await ask('page.js', { headers })).status).toBe(403)
  })

  it('a link to the page from elsewhere is fine, and says nothing', async () => {
    const { ask } = openTestInspector()
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }
    const page = await ask('', { headers, key: false })
    expect(page.status).toBe(200)
    expect(await page.text()).not.toContain(KEY)
    expect((await ask(endpoints.about, { headers, key: false })).status).toBe(401)
  })

  it('a request that a browser sends without asking first is refused: no JSON type', async () => {
    const { ask } = openTestInspector()
    const simple = { 'content-type': 'text/plain', origin: `http://${HOST}` }
    expect((await ask(endpoints.export, { body: '{}', headers: simple })).status).toBe(415)
  })

  it('its own page may', async () => {
    const { ask } = openTestInspector()
    const headers = { origin: `http://${HOST}`, 'sec-fetch-site': 'same-origin' }
    expect((await ask(endpoints.export, { body: {}, headers })).status).toBe(200)
    expect((await ask(endpoints.about, { headers: { host: 'localhost:4711' } })).status).toBe(200)
  })

  it('no answer may be framed, sniffed, kept or loaded by others, and nothing but own files runs', async () => {
    const { ask } = openTestInspector()
    for (const path of ['', 'page.js', endpoints.about, endpoints.events, 'nowhere']) {
      const { headers, body } = await ask(path)
      await body?.cancel()
      const policy = headers.get('content-security-policy') ?? ''
      expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'/)
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy).not.toMatch(/unsafe|https?:|\*/)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('access-control-allow-origin')).toBeNull()
    }
  })
})

describe('requests that no page makes', () => {
  it.each([
    '../package.json',
    '..%2f..%2fetc/passwd',
    'page.js/../../secret',
    'page.js%00',
    'PAGE.JS',
    'api',
    'api/',
    'api/about/',
    'api/constructor',
    '__proto__',
    'page.js.map',
  ])('the path %s leads nowhere', async (path) => {
    const { ask } = openTestInspector()
    expect((await ask(path)).status).toBe(404)
  })

  it('accepts only the right methods', async () => {
    const { ask } = openTestInspector()
    expect((await ask(endpoints.about, { method: 'DELETE' })).status).toBe(405)
    expect((await ask(endpoints.export)).status).toBe(405)
    expect((await ask('', { method: 'POST', body: {} })).status).toBe(404)
    const head = await ask('page.js', { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
  })

  it('bodies are bounded, whatever length they claim, and must be JSON objects', async () => {
    const { ask } = openTestInspector()
    const status = async (body: unknown) => (await ask(endpoints.export, { body })).status
    let sent = 0
    const endless = new ReadableStream({
      pull(controller) {
        sent += 65_536
        controller.enqueue(new Uint8Array(65_536).fill(0x20))
      },
    })
    expect(await status(endless)).toBe(413)
    expect(sent).toBeLessThan(3_000_000)
    expect(await status('{"conversations":')).toBe(400)
    for (const body of ['[]', '1', 'null', '"x"']) expect(await status(body)).toBe(400)
    expect(await status({ conversations: [7] })).toBe(400)
    expect(await status({ conversations: Array.from({ length: 20_000 }, () => 'x') })).toBe(400)
  })

  it('many bodies that never end hold eight places, and only as long as they last', async () => {
    const { ask } = openTestInspector()
    const controllers: ReadableStreamDefaultController[] = []
    const hanging = () =>
      ask(endpoints.export, { body: new ReadableStream({ start: (one) => void controllers.push(one) }) })
    const held = Array.from({ length: 8 }, hanging)
    await new Promise((resolve) => setImmediate(resolve))
    expect((await ask(endpoints.export, { body: {} })).status).toBe(503)
    for (const controller of controllers) controller.close()
    for (const { status } of await Promise.all(held)) expect(status).toBe(400)
    expect((await ask(endpoints.export, { body: {} })).status).toBe(200)
  })

  it('without servers, what needs some says so', async () => {
    const { json } = openTestInspector({ source: 'serve' })
    expect(await json(endpoints.servers)).toEqual([])
    expect(await json(endpoints.tools)).toEqual([])
    expect((await json(endpoints.search, { body: { query: 'x' } }, 404)).error).toContain('toolshelf inspect')
    expect((await json(endpoints.about)).can).toEqual({
      ...{ conversations: true, search: false, manageServers: false, saveHints: false },
    })
  })
})

describe('events', () => {
  it('come as lines: what was recorded, that this is all, then what happens', async () => {
    const { ask, ring } = openTestInspector()
    ring.add(record(1, { message: 'hunter2' }))
    const { body, headers } = await ask(endpoints.events)
    expect(headers.get('content-type')).toContain('ndjson')
    const reader = body!.pipeThrough(new TextDecoderStream()).getReader()
    const lines = async () => JSON.parse((await reader.read()).value ?? 'null')
    expect(await lines()).toMatchObject({ sequence: 1, message: '[hidden]' })
    expect(await lines()).toEqual({ type: 'caught-up', events: 1, skipped: 0, broken: 0 })
    ring.add(record(2))
    expect(await lines()).toMatchObject({ sequence: 2 })
    await reader.cancel()
  })

  it('32 pages may read at once; one that leaves makes room, and closing ends them all', async () => {
    const { ask, inspector } = openTestInspector()
    const open = await Promise.all(Array.from({ length: 32 }, () => ask(endpoints.events)))
    const readers = open.map(({ body }) => body!.getReader())
    for (const reader of readers) await reader.read()
    expect((await ask(endpoints.events)).status).toBe(503)
    await readers[0]?.cancel()
    const next = await ask(endpoints.events)
    expect(next.status).toBe(200)
    inspector.close()
    for (const reader of [...readers.slice(1), next.body!.getReader()]) {
      let last = await reader.read()
      while (!last.done) last = await reader.read()
    }
    expect((await ask(endpoints.events)).status).toBe(200)
  })

  it('a reader that stops reading is cut off and holds no more than the socket takes', async () => {
    const { inspector, ring } = openTestInspector()
    let pulled = 0
    let isOver = () => {}
    const over = new Promise<void>((resolve) => {
      isOver = resolve
    })
    const server = createServer((incoming, outgoing) => {
      const handle = async (request: Request) => {
        const response = await inspector.handle(request)
        const counting = new TransformStream({
          transform(chunk, controller) {
            pulled += chunk.byteLength
            controller.enqueue(chunk)
          },
        })
        return new Response(response.body?.pipeThrough(counting), response)
      }
      outgoing.once('close', isOver)
      void answerNode(incoming, outgoing, handle, { stalledMs: 200 })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    for (let sequence = 1; sequence <= 15_000; sequence++)
      ring.add(record(sequence, { message: 'x'.repeat(900) }))
    const { port } = server.address() as AddressInfo
    const options = { port, path: `/${endpoints.events}`, headers: { authorization: `Bearer ${KEY}` } }
    const request = get(options, (response) => void response.pause().on('error', () => {}))
    request.on('error', () => {})
    onTestFinished(() => {
      request.destroy()
      server.close()
    })
    await over
    expect(pulled).toBeLessThan(12_000_000)
  })
})
