// `toolshelf serve` in this process, with a fake API as its model: what its options change in what is sent.
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { everyCommand, runCli } from '../../packages/cli/src/main.ts'
import { enter } from '../../packages/testkit/src/cli-here.ts'
import { ask, closeAll, type Json, requestFor, send, startFake, until } from '../messages/support/faults.ts'
import { newPlace } from '../terminal/support.ts'

/** Starts the command and waits until it is ready; `end` sends it a signal and resolves with its exit code. */
async function start(words: readonly string[], upstream: string) {
  const place = newPlace()
  const told: string[] = []
  const leave = enter(place.folder, place.environment)
  const code = runCli(['serve', '--port', '0', '--upstream', upstream, ...words], {
    print: () => {},
    report: (text) => void told.push(text),
    isInteractive: false,
  }).finally(leave)
  let isEnded = false
  const end = async () => {
    if (!isEnded) process.emit('SIGTERM', 'SIGTERM')
    isEnded = true
    return code
  }
  onTestFinished(async () => void (await end()))
  await until(() => told.join().includes('ready at'))
  const url = /ready at (\S+)/.exec(told.join())?.[1] ?? ''
  return { url, told, end }
}

afterEach(closeAll)

// Loads every command once, so that no test below waits for it.
await everyCommand()

test('sends what its options say to the model', async () => {
  const fake = await startFake((outgoing, { url }) => {
    outgoing.setHeader('content-type', 'application/json')
    outgoing.end(url === '/v1/models' ? '{"data":[]}' : JSON.stringify({ id: 'file_1', content: [] }))
  })
  const shelved = '--mode shelve --keep search_* --keep zzz --results 200 --wire append'.split(' ')
  const more = ['--forward', 'GET /v1/files/*', '--allow', 'gateway.test', '--window', '1000']
  const served = await start([...shelved, ...more], fake.url.href)
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

test('says nothing of an upstream that did not answer before its end, and finishes what runs', async () => {
  const fake = await startFake(() => {})
  const served = await start(['--wire', 'append', '--mode', 'emulate'], fake.url.href)
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
