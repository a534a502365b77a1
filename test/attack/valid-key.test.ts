// Attacks of someone with a valid key: what a profile hides and limits holds behind every door.
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { endpoints } from '../../packages/inspector/src/api.ts'
import type { Loose } from '../../packages/testkit/src/talk.ts'
import { until } from '../mcp/support/processes.ts'
import { initialized, serveHere, text } from '../mcp/support/server-here.ts'
import { tool } from '../mcp/support/small-servers.ts'
import { newPlace } from '../terminal/support.ts'
import { call, openSession, type Posted, post, reply, said, startModel } from './requests.ts'
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

  const hiding = { servers: { deny: ['payroll'] }, tools: { deny: ['mail__mail_raise'] } }
  const { file, keys } = usersByHand({
    user: {},
    operator: { operator: true },
    restricted: { ...hiding, operator: true },
    limited: { ...hiding, operator: true, limits: { requestsPerDay: 6 } },
    searcher: { ...hiding, operator: true, limits: { searchesPerDay: 2 } },
  })

  async function start() {
    const place = newPlace({ TOOLSHELF_KEY: 'the-key-of-all-the-clients' })
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
      client: 'the-key-of-all-the-clients',
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

describe('H10 work is counted before it is done: serve', () => {
  const SEARCHES = 4000
  const deferred = Array.from({ length: 2000 }, (_, index) => ({
    ...{ name: `tool_${index}`, description: 'Does what it says. '.repeat(8), defer_loading: true },
    input_schema: { type: 'object', properties: {} },
  }))
  const client = { name: 'run', description: 'Runs.', input_schema: { type: 'object', properties: {} } }
  const regex = { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' }
  /** A conversation whose last turn left so many searches open. */
  const searching = (count: number, input: object = { pattern: 'tool' }, tools = deferred.slice(0, 60)) => ({
    ...{ model: 'claude-opus-4-5', max_tokens: 10, tools: [regex, client, ...tools] },
    messages: [
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: [
          ...Array.from({ length: count }, (_, index) => ({
            ...{ type: 'server_tool_use', id: `srvtoolu_${index}`, name: 'tool_search_tool_regex', input },
          })),
          { type: 'tool_use', id: 'toolu_1', name: 'run', input: {} },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'ran' }] },
    ],
  })

  async function open(
    limits: object,
    answer: Parameters<typeof startModel>[0] = () => reply(),
    mode = 'emulate',
  ) {
    const place = newPlace()
    const { file, keys } = usersByHand({ ada: { limits }, bob: {} })
    place.file('users.json', file)
    const model = await startModel(answer)
    const words = ['serve', '--upstream', model.url, '--wire', 'append', '--mode', mode]
    const { url } = await startGateway(place, [...words, '--users', 'users.json'])
    const send = (body: object, path = '/v1/messages', more = {}) =>
      post(url + path, keys.ada ?? '', [JSON.stringify(body)], more)
    return { url, keys, send, model }
  }

  /** How the searches of a reply ended: how many found tools, and with which error the others. */
  function outcomes(answers: readonly Posted[]) {
    const results = answers
      .flatMap(({ body }) => body?.content ?? [])
      .filter(({ type }: Loose) => type === 'tool_search_tool_result')
    const found = results.filter(({ content }: Loose) => content.tool_references)
    const errors = new Set(results.flatMap(({ content }: Loose) => content.error_code ?? []))
    return { all: results.length, found, errors: [...errors] }
  }

  test('H10 wire 17 4,000 open searches for 10,000 results each: fifty run, with fifty results each', async () => {
    const { send } = await open({})
    const body = searching(SEARCHES, { pattern: '.', limit: 10_000 }, deferred)
    const answer = await send(body)
    const { all, found, errors } = outcomes([answer])
    expect([all, found.length, errors]).toEqual([SEARCHES, 50, ['too_many_requests']])
    expect(found.map(({ content }: Loose) => content.tool_references.length)).toEqual(Array(50).fill(50))
    expect(answer.text.length).toBeLessThan(2_000_000)
  })

  test('H10 twelve requests at once with 200 searches each: five run, at a limit of five', async () => {
    const { send } = await open({ searchesPerDay: 5 })
    const answers = await Promise.all(Array.from({ length: 12 }, () => send(searching(200))))
    const { all, found, errors } = outcomes(answers)
    expect([all, found.length, errors]).toEqual([2400, 5, ['too_many_requests']])
  })

  test('H10 searches count although only tokens are counted, or their client has left', async () => {
    const { send, model } = await open({ searchesPerDay: 5 }, ({ messages }) =>
      JSON.stringify(messages).includes('hang') ? undefined : reply(),
    )
    const { model: name, tools, messages } = searching(3)
    const counted = await send({ model: name, tools, messages }, '/v1/messages/count_tokens')
    expect(counted.status).toBe(200)
    const controller = new AbortController()
    const body = searching(2)
    const left = send(
      { ...body, system: 'x', messages: [{ role: 'user', content: 'hang' }, ...body.messages.slice(1)] },
      '/v1/messages',
      { signal: controller.signal },
    )
    await until(() => model.seen.some((one) => JSON.stringify(one).includes('hang')), 'the model is asked')
    controller.abort()
    await expect(left).rejects.toThrow()
    expect(outcomes([await send(searching(1))])).toMatchObject({ found: [], errors: ['too_many_requests'] })
  })

  test('H10 25 requests at once that may have 4,000 tokens each pass as far as a limit of 20,000 goes', async () => {
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const usage = { input_tokens: 100, output_tokens: 4000 }
    const { send, model } = await open(
      { tokensPerDay: 20_000 },
      () => released.then(() => reply(usage)),
      'off',
    )
    const body = { model: 'm', max_tokens: 4000, messages: [{ role: 'user', content: 'x'.repeat(400) }] }
    let refused = 0
    const answers = Array.from({ length: 25 }, async () => {
      const { status } = await send(body)
      if (status === 429) refused++
      return status
    })
    await until(() => model.seen.length + refused === 25, 'each is refused or with the model')
    release()
    await Promise.all(answers)
    expect(model.seen.length).toBeGreaterThan(0)
    expect(model.seen.length * 4100).toBeLessThanOrEqual(20_000 + 4100)
  })

  test.each(['off', 'pass'])(
    'H10 bodies in chunks count as many bytes as were read, mode %s',
    async (mode) => {
      const { url, keys, model } = await open({ tokensPerDay: 20_000 }, () => reply({}), mode)
      const body = JSON.stringify({
        model: 'm',
        max_tokens: 10,
        messages: [{ role: 'user', content: 'x'.repeat(100_000) }],
      })
      const statuses: number[] = []
      for (let count = 0; count < 12; count++) {
        const chunks = [body.slice(0, 50_000), body.slice(50_000)]
        statuses.push((await post(`${url}/v1/messages`, keys.ada ?? '', chunks)).status)
      }
      expect(statuses).toEqual([200, ...Array(11).fill(429)])
      expect(model.seen).toHaveLength(1)
      expect((await post(`${url}/v1/messages`, keys.bob ?? '', [body])).status).toBe(200)
    },
  )
})

describe('H10 work is counted before it is done: mcp', () => {
  async function open(limits: object) {
    const place = newPlace()
    const { file, keys } = usersByHand({ ada: { limits }, bob: {} })
    place.file('users.json', file)
    const calls: string[] = []
    const url = serveHere(() => ({
      initialize: (params) => initialized(params),
      'tools/list': () => ({
        tools: ['read', 'large'].map((name) => tool(name, { annotations: { readOnlyHint: true } })),
      }),
      'tools/call': ({ name }) => {
        calls.push(name)
        return text(name === 'large' ? LARGE : `called ${name}`)
      },
    }))
    place.file('toolshelf.json', {
      ...{ mcpServers: { shop: { url } } },
      gateway: { batches: true },
    })
    mkdirSync(join(place.folder, 'home/.config/toolshelf'), { recursive: true })
    place.file('home/.config/toolshelf/permissions.json', { allow: ['readonly:shop'] })
    const words = ['mcp', '--http', '--scripts', '--mode', 'bridge', '--config', 'toolshelf.json']
    const gateway = await startGateway(place, [...words, '--users', 'users.json'])
    return { ...gateway, keys, calls }
  }

  const LARGE = JSON.stringify(
    Array.from({ length: 6000 }, (_, id) => ({ id, name: `item ${id}`, tags: ['a', 'b', { c: id }] })),
  )

  test('H10 one CallTools and one RunScript make as many calls as there are requests left', async () => {
    const { url, keys, calls } = await open({ requestsPerMinute: 12 })
    const send = await openSession(url, keys.ada ?? '')
    const batch = Array.from({ length: 15 }, () => ({ name: 'shop__read', arguments: {} }))
    const script = 'let made = 0; while (made < 100) { await tools.shop.read({}); made++ } return made'
    const answers = await send([call(1, 'CallTools', { calls: batch }), call(2, 'RunScript', { script })])
    // Two messages began the session, two are these: each covers one call, and eight more are left.
    expect(calls).toHaveLength(10)
    expect(said(answers.get(1))).toContain('your limit of 12 requests per minute is reached')
    expect(said(answers.get(2))).toContain('your limit of 12 requests per minute is reached')
    expect((await send(call(3, 'ToolSearch', { query: 'read' }))).status).toBe(429)
    const other = await openSession(url, keys.bob ?? '')
    expect(said((await other(call(1, 'CallTool', { name: 'shop__read', arguments: {} }))).get(1))).toBe(
      'called read',
    )
  })

  test('H10 a body of 100 searches in a large result: others are served meanwhile', async () => {
    const { url, keys } = await open({})
    const send = await openSession(url, keys.ada ?? '')
    const shelved = said((await send(call(1, 'CallTool', { name: 'shop__large', arguments: {} }))).get(1))
    const handle = /handle="(result_\w+)"/.exec(shelved)?.[1]
    const parsed = vi.spyOn(JSON, 'parse')
    onTestFinished(() => parsed.mockRestore())
    const order: string[] = []
    const input = (id: number) => ({ name: 'ReadResult', arguments: { handle, search: `no. ${id}` } })
    const all = Array.from({ length: 100 }, (_, id) => call(id, 'CallTool', input(id)))
    const reads = send(all).then((answers) => {
      order.push('reads')
      return answers
    })
    const other = await openSession(url, keys.bob ?? '')
    await other(call(1, 'ToolSearch', { query: 'read' }))
    order.push('another user')
    await fetch(new URL('/health', url))
    order.push('health')
    const answers = await reads
    expect(order).toEqual(['another user', 'health', 'reads'])
    expect(answers.size).toBe(100)
    expect(said(answers.get(7))).toContain('nothing in the result contains "no. 7"')
    expect(parsed.mock.calls.filter(([given]) => String(given).length === LARGE.length)).toEqual([])
  })
})
