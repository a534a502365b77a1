// `toolshelf serve` in this process, with a script or a fake API as its model: what it prints for each request, and what
// its options change.
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { everyCommand, runCli } from '../../src/cli/main.ts'
import {
  ask,
  closeAll,
  deadAddress,
  type Json,
  requestFor,
  send,
  startFake,
  until,
} from '../messages/support/faults.ts'
import { enter } from '../support/cli-here.ts'
import { newPlace, type Place } from '../terminal/support.ts'

const script = { rules: [{ when: 'find (.+)', do: [{ search: '{{1}}' }] }], otherwise: 'hi' }

function placeWith(environment: { readonly [name: string]: string } = {}): Place {
  const place = newPlace(environment)
  place.file('script.json', script)
  place.file('users.json', { profiles: { all: {} }, users: {}, keys: {} })
  return place
}

/** Starts the command and waits until it is ready; `end` sends it a signal and resolves with its exit code. */
async function start(place: Place, words: readonly string[] = [], upstream = 'script:script.json') {
  const [out, told]: [string[], string[]] = [[], []]
  const leave = enter(place.folder, place.environment)
  const code = runCli(['serve', '--port', '0', '--upstream', upstream, ...words], {
    print: (text) => void out.push(text),
    report: (text) => void told.push(text),
    isInteractive: false,
  }).finally(leave)
  let isEnded = false
  const end = async (signal: 'SIGTERM' | 'SIGINT' = 'SIGTERM') => {
    if (!isEnded) process.emit(signal, signal)
    isEnded = true
    return code
  }
  onTestFinished(async () => void (await end()))
  await until(() => told.join().includes('ready at'))
  const url = /ready at (\S+)/.exec(told.join())?.[1] ?? ''
  /** Without what differs each time. */
  const steady = (lines: readonly string[]) =>
    lines
      .join('\n')
      .replaceAll(url, '<url>')
      .replaceAll(/#key=\S+/g, '#key=…')
      .replaceAll(/\b\d+ ms/g, 'N ms')
      .replaceAll(/Expected property name .*/g, 'NOT JSON')
      .split('\n')
  return { url, out, told, steady, end }
}

const find = (what: string) => ({ messages: [{ role: 'user', content: `find ${what}` }] })

afterEach(closeAll)

// Loads every command once, so that no test below waits for it.
await everyCommand()

test('prints a line for each request', async () => {
  const served = await start(placeWith(), ['--mode', 'shelve'])
  await ask(served, requestFor('shelve', find('send message')))
  await ask(served, { ...requestFor('shelve', find('zzz')), model: 'claude-haiku-5-5' })
  await ask(served, { model: 'claude\n5', max_tokens: 5, messages: [{ role: 'user', content: 'hello' }] })
  await ask(served, { ...requestFor('shelve'), model: 'm'.repeat(300) })
  await send(`${served.url}/v1/messages/count_tokens`, { body: JSON.stringify(requestFor('shelve')) })
  await send(`${served.url}/v1/messages`, { body: '{' })
  await send(`${served.url}/health`, { method: 'GET' })
  await send(`${served.url}/v1/${'n'.repeat(500)}`, { method: 'GET' })
  await until(() => served.out.length === 8)
  expect(await served.end()).toBe(0)
  expect(served.steady([...served.told, ...served.out])).toMatchInlineSnapshot(`
    [
      "toolshelf serve: ready at <url>",
      "  upstream  script:script.json",
      "  wire      native (the script plays an API that takes references); --wire forces another",
      "  mode      shelve",
      "  try it    ANTHROPIC_BASE_URL=<url> <your agent>",
      "            OPENAI_BASE_URL=<url>/v1 <your agent>",
      "  inspect   <url>/inspect/#key=…",
      "  health    /health, /ready, /metrics · Ctrl-C ends it",
      "200 m shelve/native tools 1/3 searches 1 loaded send_message,create_issue,list_channels cost ~893 tokens more extra round trips 1 N ms (asked for; native: the script plays an API that takes references)",
      "200 claude-haiku-5-5 shelve/native tools 1/3 searches 1 cost ~716 tokens more ($0.0001 more) extra round trips 1 N ms (asked for; native: the script plays an API that takes references)",
      "200 claude 5 off N ms (there are no tools)",
      "200 mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm… shelve/native tools 1/3 cost ~237 tokens more N ms (asked for; native: the script plays an API that takes references)",
      "200 m count shelve/native tools 1/3 N ms (asked for; native: the script plays an API that takes references)",
      "400 POST /v1/messages N ms failed: the body is not valid JSON: NOT JSON",
      "200 GET /health N ms",
      "404 GET /v1/nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn N ms failed: no such endpoint: GET /v1/nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn…",
    ]
  `)
})

test('--json prints an object for each request', async () => {
  const served = await start(placeWith(), ['--json', '--no-inspect'])
  await ask(served, { ...requestFor('emulate', find('send message')), model: `\u2028${'m'.repeat(300)}` })
  await send(`${served.url}/health`, { method: 'GET' })
  await until(() => served.out.length === 2)
  expect(await served.end('SIGINT')).toBe(0)
  const [asked, health] = served.out.map((line) => JSON.parse(line) as Json)
  expect([asked?.time, health?.time].every((time) => !Number.isNaN(Date.parse(`${time}`)))).toBe(true)
  expect(Number(asked?.milliseconds) * 10).toBeCloseTo(Math.round(Number(asked?.milliseconds) * 10), 5)
  const unlike = { time: 'T', milliseconds: 'N' }
  expect([
    { ...asked, ...unlike },
    { ...health, ...unlike },
  ]).toMatchInlineSnapshot(`
    [
      {
        "extraRoundTrips": 1,
        "isEstimated": false,
        "loaded": [
          "send_message",
          "create_issue",
          "list_channels",
        ],
        "method": "POST",
        "milliseconds": "N",
        "mode": "emulate",
        "model": " mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm",
        "path": "/v1/messages",
        "requests": 1,
        "rounds": 2,
        "searchOutputTokens": 50,
        "searches": 1,
        "status": 200,
        "time": "T",
        "tokensSaved": -229,
        "tokensWith": 392,
        "tokensWithout": 163,
        "toolsGiven": 4,
        "toolsVisible": 1,
        "why": "the client defers; native: the script plays an API that takes references",
        "wire": "native",
      },
      {
        "method": "GET",
        "milliseconds": "N",
        "path": "/health",
        "status": 200,
        "time": "T",
      },
    ]
  `)
  expect(served.out.join('')).toContain('"model":"\\u2028mmm')
  expect(served.steady(served.told)).toMatchInlineSnapshot(`
    [
      "toolshelf serve: ready at <url>",
      "  upstream  script:script.json",
      "  wire      native (the script plays an API that takes references); --wire forces another",
      "  mode      auto: emulates what clients defer, shelves tools from 10 % of the window on",
      "  try it    ANTHROPIC_BASE_URL=<url> <your agent>",
      "            OPENAI_BASE_URL=<url>/v1 <your agent>",
      "  health    /health, /ready, /metrics · Ctrl-C ends it",
    ]
  `)
})

test('gives each key its mode, and lets the first alone inspect', async () => {
  const key = 'one=shelve,,two==off+header,three=emulate'
  const served = await start(placeWith({ TOOLSHELF_KEY: key }), [
    '--users',
    'users.json',
    '--store',
    'memory:',
  ])
  const modes: unknown[] = []
  for (const name of ['one', 'two=', 'three', 'two', ''])
    for (const asked of [[], [['x-toolshelf-mode', 'shelve']]]) {
      const { status, headers } = await ask(served, requestFor('shelve'), {
        'x-api-key': name,
        ...Object.fromEntries(asked),
      })
      modes.push(`${name} ${status} ${headers['x-toolshelf-mode']}`)
    }
  expect(modes).toMatchInlineSnapshot(`
    [
      "one 200 shelve",
      "one 200 shelve",
      "two= 200 off",
      "two= 200 shelve",
      "three 200 off",
      "three 403 undefined",
      "two 401 undefined",
      "two 401 undefined",
      " 401 undefined",
      " 401 undefined",
    ]
  `)
  const get = (path: string) =>
    send(`${served.url}${path}`, { method: 'GET', headers: { 'x-api-key': 'one' } })
  expect((await get('/ready')).text).toBe('{"status":"ready","reasons":[]}')
  expect((await get('/metrics')).text).toContain('toolshelf_store_operations_total{store="memory"')
  process.emit('SIGHUP', 'SIGHUP')
  await until(() => served.told.join().includes('users again'))
})

test('sends what its options say to the model', async () => {
  const fake = await startFake((outgoing, { url }) => {
    outgoing.setHeader('content-type', 'application/json')
    outgoing.end(url === '/v1/models' ? '{"data":[]}' : JSON.stringify({ id: 'file_1', content: [] }))
  })
  const place = placeWith()
  const shelved = [
    '--mode',
    'shelve',
    '--keep',
    'search_*',
    '--keep',
    'zzz',
    '--results',
    '200',
    '--wire',
    'append',
  ]
  const more = ['--forward', 'GET /v1/files/*', '--allow', 'gateway.test', '--window', '1000']
  const served = await start(place, [...shelved, ...more], fake.url.href)
  const long = [
    { role: 'user', content: 'go' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'search_issues', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'long '.repeat(200) }] },
  ]
  await ask(served, requestFor('shelve', { messages: long }, ['search_issues', 'send_message', 'other']))
  const sent = JSON.parse(fake.came.find(({ url }) => url === '/v1/messages')?.body ?? '{}')
  expect({
    tools: sent.tools?.map(({ name, defer_loading }: Json) => [name, defer_loading]),
  }).toMatchInlineSnapshot(`
      {
        "tools": [
          [
            "ReadResult",
            undefined,
          ],
          [
            "ToolSearch",
            undefined,
          ],
          [
            "search_issues",
            undefined,
          ],
        ],
      }
    `)
  const get = (path: string, host: string) =>
    send(`${served.url}${path}`, { method: 'GET', headers: { host } }).then(({ status }) => status)
  expect([
    await get('/v1/files/1', 'gateway.test'),
    await get('/v1/files/1', 'other.test'),
    await get('/v1/batches', 'gateway.test'),
  ]).toEqual([200, 403, 404])
})

test('reports an upstream that cannot be reached, unless it ends first', async () => {
  const dead = await deadAddress()
  const served = await start(placeWith(), ['--mode', 'auto:20'], dead.href)
  await until(() => served.told.length > 1)
  expect(
    served.steady(served.told).map((line) => line.replaceAll(dead.host, '<dead>')),
  ).toMatchInlineSnapshot(`
      [
        "toolshelf serve: ready at <url>",
        "  upstream  <dead>",
        "  wire      append (<dead> is not known to understand references); --wire forces another",
        "  mode      auto: emulates what clients defer, shelves tools from 20 % of the window on",
        "  try it    ANTHROPIC_BASE_URL=<url> <your agent>",
        "            OPENAI_BASE_URL=<url>/v1 <your agent>",
        "  inspect   <url>/inspect/#key=…",
        "  health    /health, /ready, /metrics · Ctrl-C ends it",
        "toolshelf serve: <dead> does not answer yet: the upstream http://<dead> cannot be reached (ECONNREFUSED). Check that it is running and that its URL is right. Requests are sent to it anyway; choose another with --upstream.",
      ]
    `)
})

test('says nothing of an upstream that did not answer before its end, and finishes what runs', async () => {
  const fake = await startFake(() => {})
  const served = await start(placeWith(), ['--wire', 'append', '--mode', 'emulate'], fake.url.href)
  const asked = ask(served, requestFor('emulate')).catch(() => 'cut')
  await until(() => fake.came.some(({ url }) => url === '/v1/messages'))
  process.emit('SIGTERM', 'SIGTERM')
  await until(() => served.told.length > 1)
  expect(await served.end()).toBe(0)
  expect(await asked).toBe('cut')
  expect(served.told.slice(1)).toMatchInlineSnapshot(`
    [
      "toolshelf serve: finishing requests (1), for 25 s at most; send another signal to stop now",
    ]
  `)
})
