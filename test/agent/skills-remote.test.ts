// Remote skills: an index over HTTP, whose skills must be discovered before they are run (U3).
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import type { Skill } from '../../packages/agent/src/skills/load.ts'
import { createSkills } from '../../packages/agent/src/skills/skills.ts'
import { quietShelf } from '../../packages/testkit/src/talk.ts'

const servers: Server[] = []

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const entries = [
  { name: 'invoices', description: 'Writes invoices and reminders for customers.', url: 'invoices/SKILL.md' },
  { name: 'taxes', description: 'Fills in the tax return.', url: '/taxes.md' },
]

const mine: Skill = {
  name: 'mine',
  description: 'Mine.',
  place: '/mine',
  isRemote: false,
  read: async () => 'Mine.',
}

const serveIndex = (skills: unknown) =>
  serve(({ url }, response) => {
    if (url === '/all/index.json') response.end(JSON.stringify({ skills }))
    else response.end(`---\nname: x\ndescription: y\n---\nThe text of ${url}`)
  })

function open(index: string, local: readonly Skill[] = []) {
  const notices: string[] = []
  const skills = createSkills(local, { indexUrl: index, notify: (message) => notices.push(message) })
  const run = async (name: string, input: object) => {
    const call = { id: 'toolu_1', name, input }
    const tool = skills.tools.find((one) => one.name === name)
    const context = { call, signal: new AbortController().signal, emit: () => {} }
    const output = (await tool?.run({ ...input }, context)) ?? ''
    return quietShelf()
      .result(call, output)
      .content.map((block) => ('text' in block ? block.text : ''))
      .join('')
  }
  return { skills, run, notices }
}

describe('remote skills', () => {
  test('found by DiscoverSkills, then run', async () => {
    const { skills, run, notices } = open(`${await serveIndex(entries)}/all/index.json`)
    expect(await run('Skill', { skill: 'invoices' })).toBe(
      'The remote skill "invoices" was not discovered in this conversation. Use DiscoverSkills to find it first.',
    )
    expect(await run('DiscoverSkills', { query: 'write an invoice' })).toContain(
      '- invoices: Writes invoices',
    )
    expect(await run('Skill', { skill: 'invoices' })).toContain('The text of /all/invoices/SKILL.md')
    expect(skills.used).toEqual([{ name: 'invoices', was_discovered: true }])
    expect(notices).toEqual([])
  })

  test('neither an offer nor a local skill waits for the index', async () => {
    const { skills, run } = open(`${await serve(() => {})}/index.json`, [mine])
    expect(await skills.offer('fill in my tax return for last year')).toEqual([])
    expect(await run('Skill', { skill: 'mine' })).toContain('Mine.')
  })

  test('reports entries that cannot be used, and keeps the others', async () => {
    const bad = [{ name: 'a b', description: 'x', url: 'x' }, { name: 'c', url: 'x' }, 7]
    const away = { name: 'away', description: 'x', url: 'http://127.0.0.2/x' }
    const file = { name: 'file', description: 'x', url: 'file:///etc/passwd' }
    const nowhere = { name: 'nowhere', description: 'x' }
    const all = [...bad, away, file, nowhere, entries[1]]
    const { skills, run, notices } = open(`${await serveIndex(all)}/all/index.json`)
    await run('DiscoverSkills', { query: 'taxes' })
    expect(skills.list().map(({ name }) => name)).toEqual(['taxes'])
    expect(notices).toHaveLength(6)
    expect(notices[3]).toContain('its url http://127.0.0.2/x is not on http://127.0.0.1')
  })

  test('a local skill of the same name wins', async () => {
    const local = { ...mine, name: 'taxes' }
    const { run, notices } = open(`${await serveIndex(entries)}/all/index.json`, [local])
    await run('DiscoverSkills', { query: 'taxes' })
    expect(await run('Skill', { skill: 'taxes' })).toContain('Mine.')
    expect(notices).toEqual([expect.stringContaining('/mine has its name, "taxes"')])
  })

  test.each<[string, RequestListener, string]>([
    ['an error', (_, response) => response.writeHead(503).end(), 'status 503'],
    ['no JSON', (_, response) => response.end('<html>'), 'it is not valid JSON'],
    ['no list', (_, response) => response.end('{}'), 'it has no list "skills"'],
    ['too much', (_, response) => response.end(Buffer.alloc(2_000_000, ' ')), 'more than 1000000 bytes'],
    [
      'a redirect',
      (_, response) => response.writeHead(302, { location: 'http://127.0.0.2/' }).end(),
      'redirect',
    ],
    ['a connection cut', (request) => request.socket.destroy(), 'other side closed'],
  ])('%s instead of an index is a notice, and local skills work', async (_, listener, sentence) => {
    const { run, notices } = open(`${await serve(listener)}/index.json`, [mine])
    await run('DiscoverSkills', { query: 'mine' })
    expect(await run('Skill', { skill: 'mine' })).toContain('Mine.')
    expect(notices[0]).toContain('cannot use the skill index http://127.0.0.1')
    expect(notices[0]).toContain(sentence)
    expect(notices[0]).toContain('Local skills still work.')
  })

  test('an index that failed is asked for again at the next search', async () => {
    let asked = 0
    const base = await serve((_, response) => {
      asked++
      if (asked === 1) response.writeHead(500).end()
      else response.end(JSON.stringify({ skills: entries }))
    })
    const { run, notices } = open(`${base}/index.json`)
    await run('DiscoverSkills', { query: 'taxes' })
    expect(await run('DiscoverSkills', { query: 'taxes' })).toContain('- taxes:')
    expect(notices).toHaveLength(1)
  })

  test('an address that is none is a notice', async () => {
    const { run, notices } = open('not an address')
    expect(await run('DiscoverSkills', { query: 'taxes' })).toContain('0 skills can be searched')
    expect(notices[0]).toContain('cannot use the skill index not an address')
  })
})
