// Bodies that are held at one time: bounded in all and for one client, given back however a request ends.
import { afterEach, describe, expect, it } from 'vitest'
import { createBodyMemory } from '../../packages/cli/src/http/messages/body.ts'
import { closeAll, send, startFake, startGateway, stream, textReply, until } from './support/faults.ts'

afterEach(closeAll)

const body = (bytes: number) => {
  const request = (text: string) => ({
    model: 'any',
    max_tokens: 1,
    stream: true,
    messages: [{ role: 'user', content: text }],
  })
  return JSON.stringify(request('x'.repeat(bytes - JSON.stringify(request('')).length)))
}

const headers = (more: Record<string, string> = {}) => ({
  'content-type': 'application/json',
  'x-api-key': 'one',
  ...more,
})

/** An upstream that answers nothing until it is let go. */
async function startWaiting() {
  let letGo = () => {}
  const wait = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const fake = await startFake((outgoing) => void wait.then(() => stream(outgoing, textReply('hi'))))
  return { fake, letGo }
}

describe.each(['pass', 'off', 'auto'])('%s', (mode) => {
  it('refuses with 503 what does not fit beside the others, and takes it once they are over', async () => {
    const { fake, letGo } = await startWaiting()
    const gateway = await startGateway(fake.url, { mode, maxHeldBytes: 10_000 })
    const ask = (key: string, bytes: number) =>
      send(`${gateway.url}/v1/messages`, { body: body(bytes), headers: headers({ 'x-api-key': key }) })
    const first = ask('one', 6000)
    await until(() => fake.came.length === 1)
    const refused = await ask('two', 6000)
    expect(refused.status).toBe(503)
    expect(refused.headers['retry-after']).toBe('5')
    expect(JSON.parse(refused.text)).toMatchObject({ type: 'error', error: { type: 'overloaded_error' } })
    const small = ask('two', 1000)
    await until(() => fake.came.length === 2)
    letGo()
    expect((await first).status).toBe(200)
    expect((await small).status).toBe(200)
    await until(() => gateway.active() === 0)
    expect((await ask('two', 6000)).status).toBe(200)
  })

  it('leaves room for others, whatever one client sends', async () => {
    const { fake, letGo } = await startWaiting()
    const gateway = await startGateway(fake.url, { mode, maxHeldBytes: 10_000 })
    const ask = (key: string) =>
      send(`${gateway.url}/v1/messages`, { body: body(2400), headers: headers({ 'x-api-key': key }) })
    const taken = [ask('one'), ask('one'), ask('one')]
    await until(() => fake.came.length === 3)
    expect((await ask('one')).status).toBe(503)
    const other = ask('two')
    await until(() => fake.came.length === 4)
    letGo()
    expect((await Promise.all([...taken, other])).map(({ status }) => status)).toEqual([200, 200, 200, 200])
  })
})

it('passed bodies are given back when the answer begins, not when it ends', async () => {
  const late = await startFake((outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    outgoing.write('event: ping\ndata: {"type":"ping"}\n\n')
  })
  const gateway = await startGateway(late.url, { mode: 'pass', maxHeldBytes: 10_000 })
  const open = () =>
    fetch(`${gateway.url}/v1/messages`, { method: 'POST', body: body(6000), headers: headers() })
  const answers = [await open(), await open(), await open()]
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  await Promise.all(answers.map((answer) => answer.body?.cancel()))
})

describe('the memory for bodies', () => {
  it('gives everything back once, whatever is added afterwards', () => {
    const memory = createBodyMemory(1000)
    const [one, two] = [memory.hold('a'), memory.hold('b')]
    one.add(500)
    two.add(400)
    expect(memory.bytes).toBe(900)
    expect(() => two.add(200)).toThrow()
    one.release()
    one.release()
    one.add(300)
    expect(memory.bytes).toBe(400)
    two.release()
    expect(memory.bytes).toBe(0)
  })
})
