// Attacks of someone with a valid key: what a profile hides and limits holds behind every door.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { endpoints } from '../../src/inspector/index.ts'
import { initialized, serveHere, text } from '../mcp/support/server-here.ts'
import { tool } from '../mcp/support/small-servers.ts'
import { newPlace } from '../terminal/support.ts'
import { startGateway, usersByHand } from './served-gateway.ts'

describe('the inspector is a door like any other', () => {
  const calls: string[] = []
  const server = (name: string) =>
    serveHere(() => ({
      initialize: (params) => initialized(params),
      'tools/list': () => ({ tools: [tool(`${name}_raise`), tool(`${name}_list`)] }),
      'tools/call': ({ name: called }) => {
        calls.push(called)
        return text(`called ${called}`)
      },
    }))

  const hiding = { servers: { deny: ['payroll'] }, tools: { deny: ['mail/mail_raise'] } }
  const { file, keys } = usersByHand({
    user: {},
    operator: { operator: true },
    restricted: { ...hiding, operator: true },
    limited: { ...hiding, operator: true, limits: { requestsPerDay: 6 } },
    searcher: { ...hiding, operator: true, limits: { searchesPerDay: 2 } },
  })

  async function start() {
    const place = newPlace({ TOOLSHELF_KEY: 'the-key-of-clients' })
    const mcpServers = { mail: { url: server('mail') }, payroll: { url: server('payroll') } }
    place.file('toolshelf.json', { mcpServers })
    place.file('users.json', file)
    const words = ['mcp', '--http', '--config', 'toolshelf.json', '--users', 'users.json']
    const gateway = await startGateway(place, [...words, '--allow', 'tools.example.com'])
    await expect
      .poll(async () => (await gateway.inspect(endpoints.tools, gateway.printed)).body?.length)
      .toBe(4)
    return { place, ...gateway }
  }

  /** Every endpoint, with a request that is in order. */
  const requests: { readonly [name in keyof typeof endpoints]: object | undefined } = {
    about: undefined,
    events: undefined,
    servers: undefined,
    tools: undefined,
    search: { query: 'raise', rankers: ['lexical'] },
    export: {},
    hint: { tool: 'mail__mail_list', hint: 'letters', isConfirmed: false },
    serverAction: { server: 'mail', action: 'refresh' },
    pins: { server: 'mail', kind: 'tool', names: [], action: 'accept', versions: [] },
  }

  test('H10 S10 who may do what: nobody, users, operators, and who has the printed key', async () => {
    const { inspect, printed } = await start()
    const readers = {
      nobody: undefined,
      guesser: `${printed}x`,
      client: 'the-key-of-clients',
      ...{ user: keys.user, restricted: keys.restricted, operator: keys.operator },
      manager: printed,
    }
    const names = Object.keys(requests) as (keyof typeof endpoints)[]
    const table: string[] = [
      `${'reader'.padEnd(12)}${names.map((name) => name.padEnd(14)).join('')}`.trimEnd(),
    ]
    for (const [reader, key] of Object.entries(readers)) {
      const statuses: number[] = []
      for (const name of names) {
        const body = requests[name]
        statuses.push((await inspect(endpoints[name], key, body ? { body } : {})).status)
      }
      table.push(
        `${reader.padEnd(12)}${statuses.map((status) => String(status).padEnd(14)).join('')}`.trimEnd(),
      )
    }
    expect(`\n${table.join('\n')}\n`).toMatchInlineSnapshot(`
      "
      reader      about         events        servers       tools         search        export        hint          serverAction  pins
      nobody      401           401           401           401           401           401           401           401           401
      guesser     401           401           401           401           401           401           401           401           401
      client      401           401           401           401           401           401           401           401           401
      user        403           403           403           403           403           403           403           403           403
      restricted  200           403           200           200           200           403           403           403           403
      operator    200           200           200           200           200           200           403           403           403
      manager     200           200           200           200           200           200           200           200           200
      "
    `)
  })

  test('S10 an operator sees, searches and calls nothing that the profile hides', async () => {
    const { inspect, printed, place } = await start()
    const key = keys.restricted
    for (const endpoint of [endpoints.about, endpoints.servers, endpoints.tools])
      expect((await inspect(endpoint, key)).text, endpoint).not.toMatch(/payroll|mail_raise/)
    const found = await inspect(endpoints.search, key, { body: { query: 'raise payroll' } })
    expect(found.text.replaceAll('raise payroll', '')).not.toMatch(/payroll|mail_raise/)
    expect(found.body.searched).toBe(1)
    const named = async (expected: string) => {
      const { status, text: said } = await inspect(endpoints.search, key, { body: { query: 'x', expected } })
      return `${status} ${said.replace(expected, '…')}`
    }
    expect(await named('payroll__payroll_raise')).toBe(await named('payroll__payroll_never'))
    const call = { tool: 'payroll__payroll_raise', input: {}, isConfirmed: true }
    for (const one of [key, keys.operator, printed])
      expect((await inspect('api/call', one, { body: call })).status).toBe(404)
    expect(calls).toEqual([])
    const before = readFileSync(join(place.folder, 'toolshelf.json'), 'utf8')
    const hint = { ...requests.hint, isConfirmed: true }
    for (const headers of [{}, { 'x-forwarded-for': '127.0.0.1', host: 'tools.example.com' }]) {
      expect((await inspect(endpoints.hint, keys.operator, { body: hint, headers })).status).toBe(403)
      const body = { server: 'mail', action: 'stop' }
      expect((await inspect(endpoints.serverAction, keys.operator, { body, headers })).status).toBe(403)
    }
    expect(readFileSync(join(place.folder, 'toolshelf.json'), 'utf8')).toBe(before)
    const foreign = { body: hint, headers: { origin: 'http://127.0.0.1:1' } }
    expect((await inspect(endpoints.hint, printed, foreign)).status).toBe(403)
  })

  test('H10 what an operator asks counts like what any client of theirs asks', async () => {
    const { inspect, url } = await start()
    const asked = await Promise.all(Array.from({ length: 9 }, () => inspect(endpoints.servers, keys.limited)))
    expect(asked.map(({ status }) => status).sort()).toEqual([...Array(6).fill(200), ...Array(3).fill(429)])
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
    const post = await fetch(url, {
      method: 'POST',
      headers: {
        ...{ authorization: `Bearer ${keys.limited}`, 'content-type': 'application/json' },
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify(ping),
    })
    expect(post.status).toBe(429)
    const search = async (ranker: string) =>
      (await inspect(endpoints.search, keys.searcher, { body: { query: 'list', rankers: [ranker] } })).status
    expect([await search('lexical'), await search('classic'), await search('regex')]).toEqual([200, 200, 429])
  })

  test('a stream of events ends, without another event, when the key of its reader is revoked', async () => {
    const { inspect, page, place, printed } = await start()
    const response = await fetch(page + endpoints.events, {
      headers: { authorization: `Bearer ${keys.operator}` },
    })
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    let lines = ''
    while (!lines.includes('caught-up')) lines += (await reader.read()).value
    place.file('users.json', {
      ...file,
      keys: Object.fromEntries(
        Object.entries(file.keys).filter(([, key]) => (key as { user: string }).user !== 'operator'),
      ),
    })
    await inspect(endpoints.serverAction, printed, { body: { server: 'mail', action: 'stop' } })
    let rest = ''
    for (let next = await reader.read(); !next.done; next = await reader.read()) rest += next.value
    expect(rest).toBe('')
  })

  test('H10 the inspector of serve, which has no servers, opens for the same and counts the same', async () => {
    const place = newPlace()
    place.file('users.json', file)
    const words = ['serve', '--upstream', 'script:demo', '--users', 'users.json']
    const { inspect, printed } = await startGateway(place, words)
    const statuses = async (endpoint: string, body?: object) => {
      const all = [undefined, keys.user, keys.restricted, keys.operator, printed]
      const asked = all.map((key) => inspect(endpoint, key, body ? { body } : {}))
      return (await Promise.all(asked)).map(({ status }) => status).join(' ')
    }
    expect(await statuses(endpoints.events)).toBe('401 403 200 200 200')
    expect(await statuses(endpoints.export, {})).toBe('401 403 200 200 200')
    expect(await statuses(endpoints.search, { query: 'x' })).toBe('401 403 404 404 404')
    expect(await statuses(endpoints.serverAction, {})).toBe('401 403 404 404 404')
    const asked = await Promise.all(Array.from({ length: 9 }, () => inspect(endpoints.about, keys.limited)))
    expect(asked.filter(({ status }) => status === 429)).toHaveLength(3)
  })
})
