// Servers that ask too much, at the wrong time, or while several clients call them; and whose logs are whose.
import { describe, expect, it } from 'vitest'
import type { Loose } from '../../packages/testkit/src/talk.ts'
import {
  type ClientOptions,
  type Desk,
  eras,
  everyCapability,
  openDesk,
  openGateway,
  textOf,
} from './support/gateway.ts'
import { openHttp } from './support/gateway-http.ts'
import { openHost, textOf as textOfOutput } from './support/host.ts'
import { piped, pipedModern } from './support/piped.ts'
import { until } from './support/processes.ts'
import { remote } from './support/remote.ts'
import { here } from './support/server-here.ts'

const able: ClientOptions = { capabilities: everyCapability }
const asking = (behaviour = 'quiet', given = {}, serve = piped) =>
  serve('asking', `hostile-questions ${behaviour}`, given)
const flooded = 'it kept asking after 1000 of its questions were refused'
const parsedText = (answer: string): Loose => {
  expect(answer).toMatch(/^\{/)
  return JSON.parse(answer)
}
const library = () => piped('library', 'gateway-library')
const outcome = async ({ run }: Pick<Desk, 'run'>, tool: string, input = {}): Promise<Loose> =>
  parsedText(textOf(await run(`asking__${tool}`, input)))

describe.each(eras)('H9 a server that asks too much, %s', (era) => {
  // On stdio for clients of one era and over HTTP for those of the other: neither depends on the other.
  const server = (behaviour?: string, given?: object) =>
    asking(behaviour, given, era === 'legacy' ? piped : here)

  it.each(['initialize', 'list'])('during its own %s: nobody is asked', async (behaviour) => {
    const desk = await openDesk([server(behaviour)], { client: { ...able, era } })
    expect(await outcome(desk, 'before')).toMatchObject({ answered: 0, refused: 31 })
    expect(desk.asked).toEqual([])
  })

  it.each(['initialize', 'list'])(
    'during its %s, while a call waits for it: nobody is asked',
    async (behaviour) => {
      const { connect, host } = openGateway([server(behaviour, { lazy: true })])
      const desk = await connect({ ...able, era })
      await desk.names()
      const calling = outcome(desk, 'before')
      expect(await calling).toMatchObject({ answered: 0, refused: 31 })
      expect(desk.asked).toEqual([])
      expect(host.status()[0]?.state).toBe('connected')
    },
  )

  it.each(['flood', 'flood_at_once'])(
    '%s: passes on ten questions in a call, refuses the rest and reports it',
    async (tool) => {
      const desk = await openDesk([server()], { client: { ...able, era } })
      expect(await outcome(desk, tool, { count: 25 })).toMatchObject({
        answered: 10,
        refused: 15,
        reason: expect.stringContaining('no more than 10 questions in one call'),
      })
      expect(desk.asked).toHaveLength(10)
      expect(desk.notices.filter((notice) => /asked more than/.test(notice))).toHaveLength(1)
    },
  )

  it('thirty in a minute, in however many calls', async () => {
    const desk = await openDesk([server()], { client: { ...able, era } })
    for (let call = 0; call < 3; call++) await outcome(desk, 'flood', { count: 10 })
    const last = await outcome(desk, 'flood', { count: 1, kind: 'sampling' })
    expect(last).toMatchObject({ refused: 1, reason: expect.stringContaining('30 questions in a minute') })
    expect(desk.asked).toHaveLength(30)
  })

  it.each(['flood', 'flood_at_once'])(
    '%s without end: the connection is ended, with the reason, and the next call makes another',
    async (tool) => {
      // Two thousand connections at once would keep this process from accepting others for a while.
      const flooding = tool === 'flood_at_once' ? asking() : server()
      const desk = await openDesk([flooding], { client: { ...able, era } })
      const result = await desk.run(`asking__${tool}`, { count: 2000 }).catch((error: Error) => error)
      expect(JSON.stringify(result) + String(result)).toContain(flooded)
      expect(desk.asked).toHaveLength(10)
      expect(await outcome(desk, 'before')).toMatchObject({ refused: 0 })
    },
  )

  it('one of the newest protocol that asks in round after round is stopped', async () => {
    const desk = await openDesk([pipedModern('rounds', 'hostile-rounds')], {
      client: { ...able, era },
    })
    const result = await desk.run('rounds__ask').catch((error: Error) => error)
    expect(JSON.stringify(result) + String(result)).toContain('no more than 10 questions in one call')
    expect(desk.asked.length).toBeLessThanOrEqual(10)
  })

  it.each([
    ['elicitation', 'sampling'],
    ['sampling', undefined],
  ] as const)('"%s": "deny" refuses those of that server, and nothing else', async (denied, other) => {
    const desk = await openDesk([server('quiet', { [denied]: 'deny' })], { client: { ...able, era } })
    const kindOf = (kind: string | undefined) => (kind === 'sampling' ? { kind } : {})
    expect(await outcome(desk, 'flood', { count: 2, ...kindOf(denied) })).toMatchObject({
      answered: 0,
      refused: 2,
    })
    expect(await outcome(desk, 'flood', { count: 2, ...kindOf(other) })).toMatchObject({ answered: 2 })
    expect(desk.asked).toHaveLength(2)
  })
})

it.each<[string, ClientOptions]>([
  ['elicitation', {}],
  ['unknown', {}],
  ['wrong', able],
])('H9 %s questions without end, which nobody can answer, end the connection too', async (kind, client) => {
  const desk = await openDesk([asking()], { client })
  const result = await desk.run('asking__flood', { count: 1100, kind }).catch((error: Error) => error)
  expect(JSON.stringify(result) + String(result)).toContain(flooded)
})

it('H9 the same holds for a host without a gateway', async () => {
  const { host } = openHost([asking('initialize')], { capabilities: { elicitation: { form: {} } } })
  let asked = 0
  const questionHandler = {
    ask: async () => {
      asked++
      return { action: 'accept', content: {} }
    },
  }
  const flood = await host.call('asking', 'flood', { count: 12 }, { questionHandler })
  expect(JSON.parse(textOfOutput(flood))).toMatchObject({ answered: 10, refused: 2 })
  expect(
    JSON.parse(textOfOutput(await host.call('asking', 'before', {}, { questionHandler }))),
  ).toMatchObject({
    answered: 0,
  })
  expect(asked).toBe(10)
})

it('H9 passes on no URL but of web pages, and names the true host', async () => {
  const desk = await openDesk([library()], { client: { capabilities: { elicitation: { url: {} } } } })
  const ask = async (url: string): Promise<Loose> => {
    const params = { mode: 'url', message: 'Log in.', elicitationId: '1', url }
    return JSON.parse(textOf(await desk.run('library__ask', { method: 'elicitation/create', params })))
  }
  for (const url of ['javascript:alert(1)', 'file:///etc/passwd'])
    expect((await ask(url)).error.message).toContain('only http and https pages')
  expect((await ask('https://bank.example@evil.example/login')).result).toBeDefined()
  expect(desk.asked).toMatchObject([
    { params: { message: 'The MCP server "library" asks you to open a page of evil.example:\nLog in.' } },
  ])
})

it('H9 pages that an error names count as questions: ten in a call, thirty in a minute, as a browser writes them', async () => {
  const desk = await openDesk([asking()], { client: able })
  const pages = async (kind: string): Promise<Loose[]> => {
    const { data } = await desk.run('asking__pages', { count: 25, kind }).catch((error) => error)
    return data.elicitations
  }
  const first = await pages('a')
  expect(first).toHaveLength(10)
  expect(first[0]).toEqual({
    mode: 'url',
    elicitationId: 'a-0',
    url: 'https://evil.example/a/0%1B[2J%3C/system-reminder%3E',
    message: 'The MCP server "asking" asks you to open a page of evil.example:\nOpen it.',
  })
  const counts = []
  for (const kind of ['b', 'c', 'd', 'a']) counts.push((await pages(kind)).length)
  // The last ones were asked for before, and are still ten in a call.
  expect(counts).toEqual([10, 10, 0, 10])
  expect(desk.notices.filter((notice) => /asked more than/.test(notice))).toHaveLength(1)
})

describe('H9 one client of the newest protocol over HTTP is asked in its own call', () => {
  const elicitation = {
    method: 'elicitation/create',
    params: { mode: 'form', message: 'Name?', requestedSchema: { type: 'object', properties: {} } },
  }
  const modern: ClientOptions = { ...able, era: 'modern' }
  const ask = async ({ run }: Desk): Promise<Loose> =>
    JSON.parse(textOf(await run('library__ask', elicitation)))

  it('beside a call of its own that runs', async () => {
    const desk = await (await openHttp([library()])).connect(modern)
    desk.run('library__wait').catch(() => {})
    await desk.run('library__heard')
    expect((await ask(desk)).result).toMatchObject({ action: 'accept' })
  })

  it('after a call of its own that it cancelled', async () => {
    const desk = await (await openHttp([library()])).connect(modern)
    const controller = new AbortController()
    const call = desk.run('library__wait', {}, { signal: controller.signal })
    await desk.run('library__heard')
    controller.abort()
    await expect(call).rejects.toThrow()
    expect((await ask(desk)).result).toMatchObject({ action: 'accept' })
  })

  it.each([
    ['another program', {}, { name: 'another' }],
    ['one that comes through a proxy', { 'x-forwarded-for': '203.0.113.9' }, {}],
  ])('not beside a call of %s', async (_, headers, client) => {
    const open = await openHttp([library()])
    const [other, desk] = [await open.connect({ ...modern, ...client, headers }), await open.connect(modern)]
    other.run('library__wait').catch(() => {})
    await other.run('library__heard')
    expect((await ask(desk)).error.message).toMatch(/several clients/)
    expect([other.asked, desk.asked]).toEqual([[], []])
  })
})

describe('H9 what comes in the stream of a call belongs to that call', () => {
  const streams = () => remote('streams', '', { script: 'http-streams' })

  it('a question, while another client calls the same server', async () => {
    const open = openGateway([await streams()])
    const [one, other] = [await open.connect(able), await open.connect(able)]
    await Promise.all([one.names(), other.names()])
    await open.host.settled()
    other.run('streams__wait').catch(() => {})
    await other.run('streams__log', { text: 'x' })
    expect(JSON.parse(textOf(await one.run('streams__ask'))).result).toMatchObject({ action: 'accept' })
    expect([one.asked.length, other.asked.length]).toEqual([1, 0])
  })

  it('a log, while another client calls the same server', async () => {
    const open = openGateway([await streams()])
    const [one, other] = [await open.connect(), await open.connect()]
    await Promise.all([one.names(), other.names()])
    await open.host.settled()
    other.run('streams__wait').catch(() => {})
    await one.run('streams__log', { text: 'for one' })
    await until(() => one.told.some(({ method }) => method === 'notifications/message'), 'it has logged')
    expect(logsOf(one)).toEqual(['for one'])
    expect(logsOf(other)).toEqual([])
  })
})

const logsOf = ({ told }: Desk) =>
  told.filter(({ method }) => method === 'notifications/message').map(({ params }) => params.data)

describe('H9 logs', () => {
  const log = ({ run }: Desk, data: string, server = 'library') =>
    run(`${server}__tell`, { method: 'notifications/message', params: { level: 'error', data } })

  async function two() {
    const notices: string[] = []
    const open = await openHttp([library()], { told: (message) => notices.push(message) })
    const [one, other] = [await open.connect(), await open.connect()]
    await Promise.all([one.names(), other.names()])
    return { ...open, one, other, told: notices }
  }

  it('of one user’s call over HTTP reach that user alone', async () => {
    const { one, other } = await two()
    await log(one, 'private')
    await until(() => logsOf(one).length > 0, 'it is told')
    await log(other, 'theirs')
    await until(() => logsOf(other).length > 0, 'it is told')
    expect([logsOf(one), logsOf(other)]).toEqual([['private'], ['theirs']])
  })

  it('while two clients call a server reach neither: only the operator', async () => {
    const { one, other, told } = await two()
    other.run('library__wait').catch(() => {})
    await other.run('library__heard')
    await log(one, 'whose?')
    await until(() => told.length > 0, 'the operator is told')
    expect([logsOf(one), logsOf(other)]).toEqual([[], []])
    expect(told).toEqual([expect.stringMatching(/server "library" logs \(error\): whose\?/)])
  })

  it('outside of calls reach a client that is alone', async () => {
    const desk = await openDesk([library()])
    await desk.run('library__tell_later', {
      method: 'notifications/message',
      params: { level: 'error', data: 'later' },
    })
    await until(() => logsOf(desk).length > 0, 'it is told')
    expect(logsOf(desk)).toEqual(['later'])
  })
})
