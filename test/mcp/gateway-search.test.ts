// Searches through the gateway: honest about what they do not show, and patient with servers that are still connecting.
import { describe, expect, it } from 'vitest'
import type { ServerConfig } from '../../packages/mcp/src/types.ts'
import { temporaryFolder } from './support/folder.ts'
import { openDesk, openGateway, textOf, untilFound } from './support/gateway.ts'
import { untilState } from './support/host.ts'
import { until } from './support/processes.ts'
import { local } from './support/servers.ts'
import { listed, neighbour, tool } from './support/small-servers.ts'

/** Time that passes when the test says so; it knows how long a search would have waited. */
function patience() {
  const asked: number[] = []
  let finish = () => {}
  const timer = (milliseconds: number) => {
    asked.push(milliseconds)
    return { over: new Promise<void>((resolve) => (finish = resolve)), cancel: () => {} }
  }
  return { asked, timer, pass: () => finish() }
}

describe('what a search says', () => {
  it('nothing found: it says so, how many tools there are, who is pending and who failed, and why (S8)', async () => {
    const { timer, pass, asked } = patience()
    const servers = [neighbour(), listed('slow').config, local('bad', 'crash start')]
    const { connect, host } = openGateway(servers, { on: { timer } })
    const { search, names } = await connect()
    await names()
    await untilState(host, 'bad', 'failed')
    await untilState(host, 'neighbour', 'connected')
    const searching = search('spaceship')
    await until(() => asked.length > 0, 'the search waits')
    pass()
    const answer = await searching
    expect(answer).toContain('No deferred tool matches "spaceship". 2 deferred tools can be searched.')
    expect(answer).toContain('still connecting: slow; try again shortly')
    expect(answer).toMatch(/failed to connect: bad \(failed to start: it ended with exit code 3\)/)
  })

  it('something found: how many more matched, and what was not searched (S13)', async () => {
    const servers = [neighbour(), local('bad', 'crash start'), local('off', 'healthy', { disabled: true })]
    const { search } = await openDesk(servers)
    const answer = await search('+neighbour tool', { max_results: 1 })
    expect(answer.match(/^- /gm)).toHaveLength(1)
    expect(answer).toContain('1 more matched')
    expect(answer).toMatch(/failed to connect: bad \(.*\)/)
    expect(answer).toContain('disabled: off')
  })

  it('says once to each client why a server was not searched, and again if nothing is found (S8, S13)', async () => {
    const servers = [neighbour(), local('bad', 'crash start'), local('off', 'healthy', { disabled: true })]
    const { search, gateway } = await openDesk(servers)
    const why = /failed to connect: bad \(.*\)/
    expect(await search('adds two numbers')).toMatch(why)
    const second = await search('adds two numbers')
    expect(second).toContain('Still not searched, as told before: bad, off.')
    expect(second).not.toMatch(why)
    expect(second).not.toContain('disabled')
    expect(await search('spaceship')).toMatch(why)
    expect(gateway.clients()).toBe(1)
  })

  it.each([
    ['an empty query', { query: '' }],
    ['no query', {}],
    ['a lone plus', { query: '+' }],
    ['select without names', { query: 'select:' }],
    ['a query of the wrong type', { query: { words: ['a'] } }],
  ])('%s is refused with what to write (S12)', async (_, input) => {
    const { call } = await openDesk([neighbour()])
    const result = await call('ToolSearch', input)
    expect(result.isError).toBe(true)
    expect(textOf(result)).toContain('{"query": "slack send message"}')
  })

  it.each([
    ['10 MB', 'tool '.repeat(400_000)],
    ['control characters', '\u0000\u001b[31m\u0007'],
    ['emoji', '📨 ✈️'],
    ['regular expressions', '(((.*)+)+)+$ [a-'],
  ])('a query of %s gets an answer', async (_, query) => {
    const { call } = await openDesk([neighbour()])
    expect(textOf(await call('ToolSearch', { query, max_results: -1 }))).not.toBe('')
  })

  it('select: what exists is loaded, what does not is named with the nearest names (S1)', async () => {
    const { search, names } = await openDesk([neighbour()])
    const answer = await search('select:neighbour__ADD,neighbour__ad')
    expect(answer).toMatch(/no tool named "neighbour__ad". Nearest: neighbour__add/)
    expect(await names()).toEqual(['ToolSearch', 'neighbour__add'])
  })
})

describe('waiting for servers', () => {
  const opened = (servers: readonly ServerConfig[]) => {
    const time = patience()
    return { ...time, ...openGateway(servers, { on: { timer: time.timer } }) }
  }

  it('a search without a match waits, at most 5 s, and stops when something matches (S8)', async () => {
    const late = listed('late')
    const { asked, connect } = opened([neighbour(), late.config])
    const { search } = await connect()
    const searching = search('spaceship')
    await until(() => asked.length > 0, 'the search waits')
    late.write([tool('fly', { description: 'Flies a spaceship' })])
    expect(await searching).toContain('- late__fly')
    expect(asked).toEqual([5000])
  })

  it('S8 a weak match of the one server that is up neither ends the wait nor is loaded alone', async () => {
    const late = listed('late')
    const files = listed('files', [tool('edit_file', { description: 'Edits two lines' })])
    const { connect, shelf, asked } = opened([files.config, late.config])
    const { search, names } = await connect()
    await names()
    await untilFound(shelf, 'files__edit_file')
    const searching = search('add two numbers', { max_results: 1 })
    await until(() => asked.length > 0, 'the search waits')
    late.write([tool('sum', { description: 'Add two numbers' })])
    expect(await searching).toContain('- late__sum')
    expect(await names()).toEqual(['ToolSearch', 'late__sum'])
  })

  it('S8 a name that answers the query waits for nobody; the next search says who has come', async () => {
    const late = listed('late')
    const { asked, connect, shelf } = opened([neighbour(), late.config])
    const { search, names } = await connect()
    await names()
    await untilFound(shelf, 'neighbour__add')
    const answer = await search('neighbour add')
    expect(answer).toContain('- neighbour__add')
    expect(answer).toContain('still connecting: late; try again shortly')
    expect(asked).toEqual([])
    late.write([tool('add')])
    await untilFound(shelf, 'late__add')
    expect(await search('add')).toContain('searched now: late.')
    expect(await search('add')).not.toContain('searched now')
  })

  it('a call of a tool that is not listed yet waits too', async () => {
    const late = listed('late')
    const { asked, connect } = opened([late.config])
    const { call } = await connect()
    const calling = call('late__fly')
    await until(() => asked.length > 0, 'the call waits')
    late.write([tool('fly')])
    expect(textOf(await calling)).toBe('called fly with {}')
    expect(asked).toEqual([5000])
  })

  it('nobody waits for a server that has failed', async () => {
    const { asked, connect, host } = opened([neighbour(), local('bad', 'crash start')])
    const { search, names } = await connect()
    await names()
    await host.settled()
    expect(await search('spaceship')).toContain('No deferred tool matches')
    expect(asked).toEqual([])
  })

  it('what an earlier run has listed is found before the server is up, and called once it is', async () => {
    const cacheFolder = temporaryFolder()
    const server = listed('late', [tool('fly')])
    const first = await openDesk([server.config], { cacheFolder })
    await first.client.close()
    await first.over
    server.hide()
    const { asked, timer } = patience()
    const { connect, gateway } = openGateway([server.config], { cacheFolder, on: { timer } })
    await gateway.host.publishCachedTools()
    const { search, call } = await connect()
    expect(await search('fly')).toContain('- late__fly')
    expect(asked).toEqual([])
    const calling = call('late__fly')
    server.write([tool('fly')])
    expect(textOf(await calling)).toBe('called fly with {}')
  })
})
