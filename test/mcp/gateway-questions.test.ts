// What servers ask clients through the gateway: elicitation, sampling and roots, in a call and outside of one, of clients
// that can and that cannot, of one client and of two.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { McpHost } from '../../packages/mcp/src/types.ts'
import type { Loose } from '../../packages/testkit/src/talk.ts'
import { temporaryFolder } from './support/folder.ts'
import {
  type ClientOptions,
  type Desk,
  defaultAnswer,
  eras,
  everyCapability,
  openDesk,
  openGateway,
  shareDesk,
  textOf,
} from './support/gateway.ts'
import { piped, pipedModern } from './support/piped.ts'
import { until } from './support/processes.ts'
import { here } from './support/server-here.ts'

const elicitation = {
  method: 'elicitation/create',
  params: {
    mode: 'form',
    message: 'Your name?',
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
  },
}
const sampling = {
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }], maxTokens: 5 },
}
const roots = { method: 'roots/list' }
const questions = [elicitation, sampling, roots]

/** As a person reads it. */
function named(question: { method: string; params?: Loose }): Loose {
  if (question === elicitation)
    return {
      ...question,
      params: { ...elicitation.params, message: 'The MCP server "library" asks:\nYour name?' },
    }
  if (question !== sampling) return question
  const systemPrompt = 'This request comes from the MCP server "library".'
  return { ...question, params: { ...sampling.params, systemPrompt } }
}

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))
const library = (name = 'library') => piped(name, 'gateway-library')
/** Its questions come in the stream of their call, so that it is clear which client they are for. */
const libraryHere = (given = {}) => here('library', 'gateway-library', given)
const able: ClientOptions = { capabilities: everyCapability }

const ask = async ({ run }: Desk, question: object, server = 'library'): Promise<Loose> =>
  JSON.parse(textOf(await run(`${server}__ask`, question)))

const heardBy = async ({ run }: Desk, server = 'library'): Promise<Loose[]> =>
  JSON.parse(textOf(await run(`${server}__heard`)))

describe.each(eras)('in a call, %s', (era) => {
  const ableDesk = shareDesk([libraryHere()], { client: { ...able, era } })
  const unableDesk = shareDesk([libraryHere()], { client: { era } })

  it.each(questions)('$method reaches the client, and its answer the server', async (question) => {
    const desk = ableDesk()
    const before = desk.asked.length
    expect((await ask(desk, question)).result).toMatchObject(defaultAnswer({ ...question, params: {} }))
    expect(desk.asked.slice(before)).toMatchObject([named(question)])
  })

  it.each(questions)(
    'refuses $method of a client that cannot do it, and continues the call',
    async (question) => {
      expect((await ask(unableDesk(), question)).error).toMatchObject({ code: expect.any(Number) })
    },
  )

  it('H6 one too large to be sent is refused, and the client stays', async () => {
    const desk = ableDesk()
    // Less than what a server may write at once: after more it is listened to with pauses.
    const params = { ...elicitation.params, message: 'x'.repeat(3_000_000) }
    expect((await ask(desk, { ...elicitation, params })).error.message).toMatch(
      /characters; at most \d+ can be shown/,
    )
    expect((await ask(desk, elicitation)).result).toBeDefined()
  })

  it('only what the client can do is offered to the servers', async () => {
    const desk = await openDesk([libraryHere()], { client: { era, capabilities: { roots: {} } } })
    expect((await ask(desk, roots)).result.roots).toHaveLength(1)
    expect((await ask(desk, elicitation)).error).toBeDefined()
    expect(desk.asked).toHaveLength(1)
  })

  it('a person who declines is an answer like any other', async () => {
    const answer = () => ({ action: 'decline' })
    const desk = await openDesk([libraryHere()], { client: { ...able, era, answer } })
    expect((await ask(desk, elicitation)).result).toEqual({ action: 'decline' })
  })

  it('a client whose answer fails is an error for the server, and the call continues', async () => {
    const answer = () => Promise.reject(new Error('the user has left'))
    const desk = await openDesk([libraryHere()], { client: { ...able, era, answer } })
    const outcome = await desk.run('library__ask', elicitation).then(textOf, String)
    expect(outcome).toContain('the user has left')
    expect(await heardBy(desk)).toBeDefined()
  })

  it('the time that a person takes to answer is not the server’s', async () => {
    const answer = async (question: Loose) => {
      await sleep(2500)
      return defaultAnswer(question)
    }
    // Time enough for a server on a busy machine, and less than the person takes.
    const desk = await openDesk([libraryHere({ callTimeoutMs: 2000 })], {
      client: { ...able, era, answer },
    })
    expect((await ask(desk, elicitation)).result).toMatchObject({ action: 'accept' })
  })

  it('a call that ended while its question was open gives its result, and is not made again', async () => {
    const answer = async (question: Loose) => {
      await sleep(400)
      return defaultAnswer(question)
    }
    const desk = await openDesk([libraryHere()], { client: { ...able, era, answer } })
    expect(textOf(await desk.run('library__ask_and_go', elicitation))).toBe('call 1')
    expect(textOf(await desk.run('library__ask_and_go', elicitation))).toBe('call 2')
    expect(desk.asked).toHaveLength(2)
  })

  it('a server of the newest protocol asks in its own way, and gets its answer', async () => {
    const desk = await openDesk([pipedModern('modern', 'gateway-modern')], {
      client: { ...able, era },
    })
    expect(desk.host.status()[0]).toMatchObject({ state: 'connected', protocol: '2026-07-28' })
    expect(textOf(await desk.run('modern__greet'))).toContain('Ada')
    expect(desk.asked).toHaveLength(1)
  })
})

describe('a question that is open', () => {
  /** Longer than the test waits: whatever ends it is not the time-out. */
  const patient = { callTimeoutMs: 60_000 }

  it('a call that is cancelled while its question is open is cancelled at the server', async () => {
    const answer = () => new Promise(() => {})
    const desk = await openDesk([libraryHere(patient)], { client: { ...able, answer } })
    const controller = new AbortController()
    const calling = desk.run('library__ask', elicitation, { signal: controller.signal })
    const rejected = expect(calling).rejects.toThrow()
    await until(() => desk.asked.length === 1, 'the client is asked')
    controller.abort('enough')
    await rejected
    await until(async () => (await heardBy(desk)).length > 0, 'the server is told')
    expect(await heardBy(desk)).toMatchObject([{ method: 'cancelled' }])
  })

  it('a client that goes while its question is open leaves nothing behind', async () => {
    const answer = () => new Promise(() => {})
    const open = openGateway([libraryHere(patient)])
    const [leaving, staying] = [await open.connect({ ...able, answer }), await open.connect(able)]
    await open.host.settled()
    leaving.run('library__ask', elicitation).catch(() => {})
    await until(() => leaving.asked.length === 1, 'the client is asked')
    await leaving.client.close()
    await until(async () => (await heardBy(staying)).length > 0, 'the server is told')
    expect(await heardBy(staying)).toMatchObject([{ method: 'cancelled' }])
  })
})

describe('an answer to a call that is over', () => {
  it('is refused, and the call is not made again', async () => {
    const desk = await openDesk([library()], { client: { ...able, era: 'modern' } })
    const stale = desk.raw('tools/call', {
      name: 'CallTool',
      arguments: { name: 'library__tell', arguments: { method: 'notifications/message', params: {} } },
      inputResponses: { 'ask-1': { action: 'accept', content: {} } },
      requestState: 'of another call',
    })
    const outcome = await stale.then(
      (result) => ({ isError: result.isError, message: textOf(result) }),
      (error: Error) => ({ isError: true, message: error.message }),
    )
    expect(outcome.isError).toBe(true)
    expect(outcome.message).toMatch(/expired/)
  })
})

describe('outside of a call', () => {
  /** Lets the server ask when the call is over; its answer is read from its notifications, because asking for it would be a call. */
  async function askOutside({ run }: Desk, host: McpHost): Promise<Loose> {
    const file = join(temporaryFolder(), 'now')
    await run('library__ask_later', { ...roots, file })
    writeFileSync(file, '')
    const told = () => host.status()[0]?.stderr ?? ''
    await until(() => told() !== '', 'the server has its answer')
    return JSON.parse(told())
  }

  it('the only client is asked', async () => {
    const desk = await openDesk([library()], { client: able })
    expect((await askOutside(desk, desk.host)).result.roots).toHaveLength(1)
    expect(desk.asked).toHaveLength(1)
  })

  it.each([
    ['one client that cannot', [{}]],
    ['two clients', [able, able]],
    ['a client of single requests', [{ ...able, era: 'modern' }]],
    ['a client of single requests beside another', [{ ...able, era: 'modern' }, able]],
  ] as const)('%s: the question is refused, and nobody is asked', async (_, clients) => {
    const open = openGateway([library()])
    const desks = await Promise.all(clients.map((client) => open.connect(client)))
    const [desk] = desks as [Desk]
    await desk.names()
    await open.host.settled()
    expect((await askOutside(desk, open.host)).error).toMatchObject({ code: expect.any(Number) })
    expect(desks.flatMap(({ asked }) => asked)).toEqual([])
  })
})

describe('two clients', () => {
  const named = (name: string): ClientOptions => ({
    ...able,
    answer: () => ({ action: 'accept', content: { name } }),
  })

  async function two(
    servers = [library()],
    options: readonly ClientOptions[] = [named('Ada'), named('Bob')],
  ) {
    const open = openGateway(servers)
    const [one, other] = [await open.connect(options[0]), await open.connect(options[1])]
    await Promise.all([one.names(), other.names()])
    await open.host.settled()
    return { ...open, one, other }
  }

  it('at the same time on one server, a question that could be for either is refused', async () => {
    const { one, other } = await two()
    one.run('library__wait').catch(() => {})
    await heardBy(one)
    expect((await ask(other, elicitation)).error.message).toMatch(/several clients/)
    expect([one.asked, other.asked]).toEqual([[], []])
  })

  /** A call that asks only once there is the file; given up before. */
  async function giveUp(desk: Desk, question: object) {
    const file = join(temporaryFolder(), 'now')
    const controller = new AbortController()
    const call = desk.run('library__ask_at', { ...question, file }, { signal: controller.signal })
    await heardBy(desk)
    controller.abort()
    await expect(call).rejects.toThrow()
    return () => writeFileSync(file, '')
  }

  const toldBy = async (host: McpHost): Promise<Loose> => {
    const told = () => host.status()[0]?.stderr ?? ''
    await until(() => told() !== '', 'the server has its answer')
    return JSON.parse(told())
  }

  it('what a server asks about a call that was given up is asked of nobody else who calls', async () => {
    const { one, other, host } = await two()
    const goOn = await giveUp(one, elicitation)
    other.run('library__wait').catch(() => {})
    await heardBy(other)
    goOn()
    expect((await toldBy(host)).error.message).toMatch(/several clients/)
    expect([one.asked, other.asked]).toEqual([[], []])
  })

  it('nor of the one who is left when its client has gone', async () => {
    const { one, other, host } = await two()
    const goOn = await giveUp(one, elicitation)
    await one.client.close()
    goOn()
    expect((await toldBy(host)).error).toBeDefined()
    expect(other.asked).toEqual([])
  })

  it('H9 an only client is asked in its next call, and no more about the one that it has given up', async () => {
    const desk = await openDesk([library()], { client: able })
    const goOn = await giveUp(desk, elicitation)
    expect((await ask(desk, elicitation)).result).toBeDefined()
    goOn()
    expect((await toldBy(desk.host)).error.message).toMatch(/only during a call/)
    expect(desk.asked).toHaveLength(1)
  })

  it('a client that cannot answer is not answered for by one that can', async () => {
    const { one, other } = await two([library()], [named('Ada'), {}])
    expect((await ask(other, elicitation)).error).toBeDefined()
    expect([one.asked, other.asked]).toEqual([[], []])
  })

  it('pass changed roots to the servers', async () => {
    const { one, other } = await two()
    await one.client.sendRootsListChanged()
    await until(async () => (await heardBy(other)).length > 0, 'the server is told')
    expect(await heardBy(other)).toMatchObject([{ method: 'roots changed' }])
  })
})

it.each(eras)('%s: a hundred questions at once cause no warning of Node', async (era) => {
  const warnings: Error[] = []
  const note = (warning: Error) => warnings.push(warning)
  process.on('warning', note)
  const desk = await openDesk([piped('asking', 'asking')], {
    client: { capabilities: everyCapability, era },
  })
  expect(textOf(await desk.run('asking__ask_many', roots))).toBe('100')
  process.off('warning', note)
  expect(warnings).toEqual([])
})
