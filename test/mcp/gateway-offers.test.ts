// What else passes through the gateway: resources, templates, prompts, completions, logging, instructions.
import { describe, expect, it } from 'vitest'
import { joinInstructions } from '../../packages/mcp/src/greeting/greeting.ts'
import type { Loose } from '../../packages/testkit/src/talk.ts'
import { type Desk, eras, openDesk, openGateway, shareDesk, textOf } from './support/gateway.ts'
import { until } from './support/processes.ts'
import { here } from './support/server-here.ts'
import { listed, neighbour } from './support/small-servers.ts'

const library = (name = 'library') => here(name, 'gateway-library')
const heardBy = async ({ run }: Pick<Desk, 'run'>, name = 'library'): Promise<Loose[]> =>
  JSON.parse(textOf(await run(`${name}__heard`)))
const tell = ({ run }: Pick<Desk, 'run'>, method: string, params: object = {}) =>
  run('library__tell', { method, params })
const toldOf = ({ told }: Pick<Desk, 'told'>, method: string) =>
  told.flatMap((one) => (one.method === `notifications/${method}` ? [one.params] : []))

describe.each(eras)('resources and prompts, %s', (era) => {
  const opened = shareDesk([neighbour(), library(), library('archive')], { client: { era } })

  it('resources of all servers, all pages, whole but for their URIs', async () => {
    const { client } = opened()
    expect((await client.listResources()).resources).toMatchObject([
      { uri: 'library+book://one', name: 'one', title: 'The first book', mimeType: 'text/plain' },
      { uri: 'library+book://two', name: 'two', annotations: { priority: 0.5 } },
      { uri: 'archive+book://one' },
      { uri: 'archive+book://two' },
    ])
    expect((await client.listResourceTemplates()).resourceTemplates).toMatchObject([
      { uriTemplate: 'library+book://{title}', name: 'any book' },
      { uriTemplate: 'archive+book://{title}' },
    ])
  })

  it('a resource is read at its own server', async () => {
    const { client } = opened()
    for (const uri of ['archive+book://one', 'library+book://of/a/template']) {
      const { contents } = await client.readResource({ uri })
      expect(contents).toMatchObject([{ uri, text: `read ${uri.replace(/^\w+\+/, '')}` }])
    }
  })

  it('what nobody has is an error that says so', async () => {
    const { client } = opened()
    const refused = (message: string) =>
      expect.objectContaining({ code: -32602, message: expect.stringContaining(message) })
    const read = (uri: string) => client.readResource({ uri })
    await expect(read('library+film://one')).rejects.toThrow(refused('there is no film://one'))
    await expect(client.getPrompt({ name: 'library__none' })).rejects.toThrow(
      refused('unknown prompt "library__none"; there are library__review'),
    )
  })

  it('prompts under the names of their servers, with the resources in them', async () => {
    const { client } = opened()
    const { prompts } = await client.listPrompts()
    expect(prompts.map(({ name }) => name)).toEqual([
      'library__review',
      'library__two_words',
      'archive__review',
      'archive__two_words',
    ])
    expect(prompts[0]).toMatchObject({
      title: 'Review a book',
      arguments: [{ name: 'book', required: true }],
    })
    const prompt = await client.getPrompt({ name: 'archive__review', arguments: { book: 'one' } })
    expect(prompt.messages).toMatchObject([
      { content: { type: 'text', text: 'review {"book":"one"}' } },
      { content: { type: 'resource', resource: { uri: 'archive+book://one' } } },
    ])
    expect((await client.getPrompt({ name: 'library__two_words' })).messages[0]).toMatchObject({
      content: { text: 'two words {}' },
    })
  })

  it('completions of prompts and templates', async () => {
    const { client } = opened()
    const complete = async (ref: Loose) =>
      (await client.complete({ ref, argument: { name: 'book', value: 'o' } })).completion.values
    expect(await complete({ type: 'ref/prompt', name: 'archive__review' })).toEqual(['review o'])
    expect(await complete({ type: 'ref/resource', uri: 'archive+book://{title}' })).toEqual([
      'book://{title} o',
    ])
  })

  it('a server that declares what it does not have costs only its own lists', async () => {
    const empty = here('empty', 'gateway-hollow')
    const { client } = await openDesk([empty, library()], { client: { era } })
    expect((await client.listResources()).resources).toHaveLength(2)
    expect((await client.listPrompts()).prompts).toHaveLength(2)
  })
})

describe('updates of resources', () => {
  it('updates reach who has subscribed, under the gateway’s URI', async () => {
    const open = openGateway([library()])
    const [one, other] = [await open.connect(), await open.connect()]
    await open.host.settled()
    await one.client.subscribeResource({ uri: 'library+book://one' })
    await tell(one, 'notifications/resources/updated', { uri: 'book://one' })
    await tell(one, 'notifications/resources/updated', { uri: 'book://two' })
    await Promise.all([one.changes(), other.changes()])
    expect(toldOf(one, 'resources/updated')).toEqual([{ uri: 'library+book://one' }])
    expect(toldOf(other, 'resources/updated')).toEqual([])
    await one.client.unsubscribeResource({ uri: 'library+book://one' })
    await tell(one, 'notifications/resources/updated', { uri: 'book://one' })
    await one.changes()
    expect(toldOf(one, 'resources/updated')).toHaveLength(1)
    expect(await heardBy(one)).toMatchObject([
      { method: 'subscribe', params: { uri: 'book://one' } },
      { method: 'unsubscribe', params: { uri: 'book://one' } },
    ])
  })

  it('a subscription lasts as long as one client wants it', async () => {
    const open = openGateway([library()])
    const [one, other] = [await open.connect(), await open.connect()]
    await open.host.settled()
    const uri = 'library+book://one'
    await one.client.subscribeResource({ uri })
    await other.client.subscribeResource({ uri })
    await other.client.unsubscribeResource({ uri })
    const methods = async () => (await heardBy(one)).map(({ method }) => method)
    expect(await methods()).not.toContain('unsubscribe')
    await one.client.unsubscribeResource({ uri })
    expect((await methods()).at(-1)).toBe('unsubscribe')
  })

  it('a client that goes takes its subscriptions with it', async () => {
    const open = openGateway([library()])
    const [one, other] = [await open.connect(), await open.connect()]
    await open.host.settled()
    await one.client.subscribeResource({ uri: 'library+book://one' })
    await one.client.close()
    await until(async () => (await heardBy(other)).length > 1, 'the server is told')
    expect((await heardBy(other)).at(-1)).toMatchObject({
      method: 'unsubscribe',
      params: { uri: 'book://one' },
    })
  })
})

describe('logging', () => {
  const log = (desk: Pick<Desk, 'run'>, level: string, logger?: string) =>
    tell(desk, 'notifications/message', { level, data: { said: level }, ...(logger ? { logger } : {}) })
  const logged = async (desk: Desk) => {
    await desk.changes()
    return toldOf(desk, 'message')
  }

  it('messages come under the name of their server, from the level that the client wants', async () => {
    const desk = await openDesk([library()])
    await desk.client.setLoggingLevel('warning')
    await log(desk, 'info')
    await log(desk, 'warning', 'door')
    await log(desk, 'error')
    expect(await logged(desk)).toEqual([
      { level: 'warning', logger: 'library/door', data: { said: 'warning' } },
      { level: 'error', logger: 'library', data: { said: 'error' } },
    ])
    expect(await heardBy(desk)).toMatchObject([{ method: 'setLevel', params: { level: 'warning' } }])
  })

  it('H6 a message too large to be sent is left out, and the client stays', async () => {
    const desk = await openDesk([library()])
    await tell(desk, 'notifications/message', { level: 'error', data: 'x'.repeat(11_000_000) })
    await log(desk, 'error')
    expect(await logged(desk)).toEqual([{ level: 'error', logger: 'library', data: { said: 'error' } }])
  })

  it('without a wish, info and above', async () => {
    const desk = await openDesk([library()])
    await log(desk, 'debug')
    await log(desk, 'info')
    expect((await logged(desk)).map(({ level }) => level)).toEqual(['info'])
  })

  it('one client’s wish takes nothing from another', async () => {
    const open = openGateway([library()])
    const [one, other] = [await open.connect(), await open.connect()]
    await open.host.settled()
    await one.client.setLoggingLevel('debug')
    await other.client.setLoggingLevel('error')
    await until(async () => (await heardBy(one)).length > 0, 'the server is told')
    expect((await heardBy(one)).at(-1)).toMatchObject({ params: { level: 'debug' } })
    await log(one, 'debug')
    expect((await logged(one)).map(({ level }) => level)).toEqual(['debug'])
    expect(await logged(other)).toEqual([])
  })

  it('a message that comes after its call does not reach another client that calls meanwhile', async () => {
    const notices: string[] = []
    const open = openGateway([library()], { told: (message) => void notices.push(message) })
    const [one, other] = [await open.connect(), await open.connect()]
    await open.host.settled()
    other.run('library__wait').catch(() => {})
    await heardBy(one)
    const late = { method: 'notifications/message', params: { level: 'error', data: 'a late message' } }
    await one.run('library__tell_later', late)
    const reported = () => notices.some((notice) => notice.includes('a late message'))
    await until(() => reported() || toldOf(other, 'message').length > 0, 'someone is told')
    expect(reported()).toBe(true)
    expect(await logged(other)).toEqual([])
  })
})

describe('instructions', () => {
  /** The instructions that a second client receives, once the servers have answered. */
  async function told(texts: { readonly [name: string]: string | undefined }, budget?: number) {
    const servers = Object.entries(texts).map(([name, text]) => {
      const server = listed(name)
      server.write([], text)
      return server.config
    })
    const options = budget === undefined ? {} : { instructions: budget }
    const open = openGateway(servers, options)
    const first = await open.connect()
    await open.host.settled()
    const second = await open.connect()
    return { before: first.client.getInstructions() ?? '', text: second.client.getInstructions() ?? '' }
  }

  it('name the services at once, and what the servers say as soon as it is known', async () => {
    const { before, text } = await told({
      shop: 'Ask for the price before you buy. '.repeat(5),
      mute: undefined,
    })
    expect(before).toContain('behind ToolSearch: shop, mute.')
    expect(before).not.toContain('price')
    expect(text).toContain('## shop\nAsk for the price before you buy.')
    expect(text).not.toContain('## mute')
  })

  it('of few words are included too', async () => {
    const { text } = await told({ shop: 'Prices are in euro.' })
    expect(text).toContain('## shop\nPrices are in euro.')
  })

  const long = '🧭'.repeat(4000)
  const texts = { a: long, b: `.${long}`, c: '\ud83e' }

  function expectWithin(text: string, budget: number): void {
    expect(text.length).toBeLessThanOrEqual(budget)
    expect(text.isWellFormed()).toBe(true)
    expect(text.replace('## c\n\ufffd', '')).not.toContain('\ufffd')
  }

  it('stay within the budget of a gateway', async () => expectWithin((await told(texts, 1000)).text, 1000))

  it.each([4096, 1000, 300, 100, 10, 0])(
    'stay within %i characters, and no character is broken',
    (budget) => {
      const servers = Object.entries(texts).map(([name, instructions]) => ({
        name,
        description: undefined,
        instructions,
      }))
      expectWithin(joinInstructions(servers, budget), budget)
    },
  )

  it('one long text leaves room for the others, and says that it was cut', async () => {
    const { text } = await told({ long: 'word '.repeat(3000), other: 'Be brief. '.repeat(20) }, 2000)
    expect(text).toContain('[cut]')
    expect(text).toContain(`## other\n${'Be brief. '.repeat(20).trim()}`)
  })
})
