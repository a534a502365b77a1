// The tool `Fetch` against a server on loopback, and HTML as text.
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createBuiltInTools } from '../../packages/agent/src/tools/built-in.ts'
import { readableText } from '../../packages/core/src/lib/text.ts'
import { sizeOf } from '../../packages/testkit/src/runs.ts'
import { textIn } from './support.ts'

async function serving(answer: (path: string, response: ServerResponse) => void): Promise<string> {
  const server = createServer((request, response) => answer(request.url ?? '', response))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function get(url: string, more: { offset?: number; signal?: AbortSignal } = {}) {
  const { signal = new AbortController().signal, ...options } = more
  const tool = createBuiltInTools({ directory: '.' }).find(({ name }) => name === 'Fetch')!
  const input = { url, ...options }
  return tool.run(input, { call: { id: 'toolu_1', name: 'Fetch', input }, signal, emit: () => {} })
}

const textOf = async (...given: Parameters<typeof get>) => {
  const output = await get(...given)
  return typeof output === 'string' ? output : textIn('content' in output ? output : { content: output })
}

test('a page comes as text, JSON as it is, an image as an image', async () => {
  const png = Buffer.from('89504e470d0a1a0a0000', 'hex')
  const url = await serving((path, response) => {
    if (path === '/json') response.setHeader('content-type', 'application/json').end('{"a": 1}')
    else if (path === '/image') response.setHeader('content-type', 'image/png').end(png)
    else response.setHeader('content-type', 'text/html; charset=utf-8').end('<h1>Hi</h1><p>there')
  })
  expect(await textOf(`${url}/`)).toBe('# Hi\n\nthere')
  expect(await textOf(`${url}/json`)).toBe('{"a": 1}')
  expect(await get(`${url}/image`)).toMatchObject([{ type: 'image', source: { media_type: 'image/png' } }])
})

test('a page is read in the characters that its server or it itself declares', async () => {
  const pages: { readonly [path: string]: readonly [string, string] } = {
    '/header': ['text/plain; charset="ISO-8859-1"', 'gr\xfc\xdfe'],
    '/page': ['text/html', '<meta charset=shift_jis><p>\x93\xfa\x96\x7b'],
    '/unknown': ['text/plain; charset=none-such', 'plain'],
    '/none': ['text/html', '<p>gr\xc3\xbc\xc3\x9fe'],
  }
  const url = await serving((path, response) => {
    const [type, bytes] = pages[path]!
    response.setHeader('content-type', type).end(Buffer.from(bytes, 'latin1'))
  })
  expect(await textOf(`${url}/header`)).toBe('grüße')
  expect(await textOf(`${url}/page`)).toBe('日本')
  expect(await textOf(`${url}/unknown`)).toBe('plain')
  expect(await textOf(`${url}/none`)).toBe('grüße')
})

test('reports a body that breaks off or is not compressed as declared, with its address', async () => {
  const url = await serving((path, response) => {
    response.writeHead(200, {
      'content-type': 'text/plain',
      ...(path === '/' ? {} : { 'content-encoding': 'gzip' }),
    })
    if (path !== '/') response.end('no gzip')
    else response.write('half', () => response.destroy())
  })
  await expect(get(`${url}/`)).rejects.toThrow(`${url}/ could not be reached: `)
  await expect(get(`${url}/gzip`)).rejects.toThrow(`${url}/gzip could not be reached: incorrect header check`)
})

test('long text comes in parts', async () => {
  const url = await serving((_, response) =>
    response.setHeader('content-type', 'text/plain').end('x'.repeat(50_000)),
  )
  expect(await textOf(url)).toMatch(/x\n\(Characters 0 to 40000 of 50000\. Read on with offset 40000\.\)$/)
  expect(await textOf(url, { offset: 40_000 })).toBe('x'.repeat(10_000))
  expect(await textOf(url, { offset: 60_000 })).toBe('(Nothing there: the text has 50000 characters.)')
})

test('an endless answer is cut', async () => {
  const url = await serving((_, response) => {
    response.setHeader('content-type', 'text/plain')
    const more = () => {
      while (!response.destroyed && response.write('y'.repeat(100_000)));
    }
    response.on('drain', more)
    more()
  })
  expect(await textOf(url)).toMatch(/Only the first 3750000 bytes were read/)
})

test('follows redirects on the same host and reports those to others', async () => {
  const url = await serving((path, response) => {
    const to = {
      '/a': '/b',
      '/far': 'http://example.invalid/x',
      '/round': '/round',
      '/file': 'file:///etc/passwd',
    }[path]
    if (to) response.writeHead(302, { location: to }).end()
    else response.setHeader('content-type', 'text/plain').end(`this is ${path}`)
  })
  expect(await textOf(`${url}/a`)).toBe('this is /b')
  expect(await textOf(`${url}/far`)).toBe(
    `${url}/far redirects to another host: http://example.invalid/x. Fetch that URL if you want it.`,
  )
  expect(await textOf(`${url}/file`)).toMatch(/redirects to another host: file:/)
  expect(await textOf(`${url}/round`)).toMatch(/redirects more than 5 times/)
})

test('explains what cannot be fetched', async () => {
  const url = await serving((path, response) => {
    if (path === '/pdf') response.setHeader('content-type', 'application/pdf').end('%PDF')
    else response.writeHead(404, { 'content-type': 'text/plain' }).end('no such page')
  })
  expect(await get(`${url}/none`)).toEqual({
    content: [{ type: 'text', text: 'The server answered with status 404.\nno such page' }],
    isError: true,
  })
  await expect(get(`${url}/pdf`)).rejects.toThrow('The answer is application/pdf, not text.')
  await expect(get('file:///etc/passwd')).rejects.toThrow(/Only http and https/)
  await expect(get('example.com')).rejects.toThrow('"example.com" is not a URL; include the scheme')
  await expect(get('http://me:secret@example.com')).rejects.toThrow(/name or password/)
  await expect(get('http://127.0.0.1:1/')).rejects.toThrow(/http:\/\/127\.0\.0\.1:1\/ could not be reached/)
})

test('it stops when the user stops', async () => {
  const stop = new AbortController()
  const url = await serving(() => stop.abort())
  await expect(get(url, { signal: stop.signal })).rejects.toThrow(/abort/i)
})

test('HTML reads as a person would read it', () => {
  const html = `<!doctype html><html><head><title>No</title><style>p{}</style></head><body><!-- <p>no</p> -->
    <H2>Fish &amp; chips</H2><p>A  <b>bold</b>\n word &#8212; &#x41; &unknown;<br>next</p>
    <SCRIPT>if (a < b) alert("<p>no</p>")</SCRIPT>
    <ul><li>one</li><li><a href="https://example.com/?a=1&amp;b=2">two</a></li></ul>
    <table><tr><th>k</th><td>v</td></tr></table>5 < 6</body></html>`
  expect(readableText(html)).toBe(
    '## Fish & chips\n\nA bold word — A &unknown;\nnext\n\n- one\n\n- two (https://example.com/?a=1&b=2)\n\nk | v |\n\n5 < 6',
  )
})

test('HTML that never ends, and letters that grow in lower case, do no harm', () => {
  expect(readableText(`a${'<script'.repeat(200_000)}`)).toBe('a')
  expect(readableText('<!--'.repeat(100_000))).toBe('')
  expect(readableText(`${'İ'.repeat(50)}<script>no</script><p>yes`)).toBe(`${'İ'.repeat(50)}\nyes`)
})

test('a page of signs that open nothing is read in one pass', () => {
  const page = '< '.repeat(sizeOf({ quick: 150_000, full: 450_000 }))
  expect(readableText(page)).toBe(page.trim())
})
