// Real servers with odd habits: a list that depends on the client, one that changes at every start, and one that never
// goes by itself.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openPins } from '../../packages/mcp/src/pins/pins.ts'
import { isThorough } from '../../packages/testkit/src/runs.ts'
import { temporaryFolder } from './support/folder.ts'
import {
  defaultAnswer,
  eras,
  everyCapability,
  openDesk,
  openGateway,
  type Question,
  textOf,
} from './support/gateway.ts'
import { isAlive, until } from './support/processes.ts'
import { describeOthers, realServer } from './support/real-servers.ts'

// What a client of the newest protocol is asked is tested with small servers; each of these takes half a CPU second to start.
describe.each(isThorough ? eras : eras.slice(0, 1))(
  'everything and filesystem, for a client that can be asked, %s',
  (era) => {
    it('list more tools, receive the roots, and ask', async () => {
      const [folder, root] = [temporaryFolder(), temporaryFolder()]
      writeFileSync(join(root, 'note.txt'), 'from the root')
      const answer = (question: Question) =>
        question.method === 'roots/list'
          ? { roots: [{ uri: `file://${root}`, name: 'root' }] }
          : defaultAnswer(question)
      // Outside of a call, a client of the newest protocol cannot be asked for its roots.
      const hasRoots = era === 'legacy'
      const servers = ['everything', ...(hasRoots ? ['filesystem'] : [])]
      const { host, run, asked } = await openDesk(
        servers.map((name) => realServer(name, folder)),
        {
          client: { era, capabilities: everyCapability, answer },
        },
      )
      const tools = () => host.status()[0]?.tools.map(({ name }) => name) ?? []
      await until(
        () => tools().length === 15,
        () => `everything has 15 tools; it has ${tools().length}`,
      )
      expect(tools()).toEqual(expect.arrayContaining(['get-roots-list', 'trigger-sampling-request']))
      const sampled = await run('everything__trigger-sampling-request', { prompt: 'hi', maxTokens: 5 })
      expect(textOf(sampled)).toContain('hello')
      const elicited = await run('everything__trigger-elicitation-request')
      expect(textOf(elicited)).toContain('Ada')
      expect(textOf(await run('everything__get-roots-list'))).toContain(root)
      expect(asked.map(({ method }) => method)).toEqual(
        expect.arrayContaining(['sampling/createMessage', 'elicitation/create', 'roots/list']),
      )
      if (!hasRoots) return
      await until(
        async () => textOf(await run('filesystem__list_allowed_directories')).includes(root),
        'filesystem knows the roots',
      )
    })
  },
)

describeOthers('currents, whose list is another one at every start', () => {
  const openWith = async (pinsFolder: string, folder: string, onChange?: 'hold') => {
    const pins = openPins({ folder: pinsFolder })
    const desk = await openDesk([realServer('currents', folder)], { pins, ...(onChange ? { onChange } : {}) })
    const { notices, names, host, search } = desk
    const found = await search('+currents runs', { max_results: 50 })
    const status = host.status()[0]
    await desk.client.close()
    await desk.over
    return { notices: notices.join('\n'), names, found, status }
  }

  it('is reported, and used all the same; held back if configured', async () => {
    const [pinned, folder] = [temporaryFolder(), temporaryFolder()]
    const first = await openWith(pinned, folder)
    expect(first.status).toMatchObject({ state: 'connected', held: [] })
    expect(first.notices).toBe('')
    if (isThorough) {
      const second = await openWith(pinned, folder)
      expect(second.notices).toMatch(
        /"currents": \d+ definition.*changed since first seen.*used as they are now/,
      )
      expect(second.status?.held).toEqual([])
      expect(second.found.startsWith(first.found)).toBe(true)
      expect(second.found).toMatch(/changed since the user first saw them: \d+ of currents/)
    }
    const third = await openWith(pinned, folder, 'hold')
    expect(third.notices).toContain('held back until accepted')
    expect(third.status?.held.length).toBeGreaterThan(0)
    expect(third.status?.held.length).toBeLessThan(third.status?.tools.length ?? 0)
    for (const tool of third.status?.held ?? []) expect(third.found).not.toContain(`- currents__${tool}:`)
  })
})

describe('trello, which never goes by itself', () => {
  it('is gone when the gateway is', async () => {
    const { connect, host, gateway } = openGateway([realServer('trello', temporaryFolder())])
    await connect()
    await host.settled()
    const [status] = host.status()
    expect(status).toMatchObject({ state: 'connected' })
    expect(status?.tools).toHaveLength(57)
    expect(isAlive(status?.pid ?? 0)).toBe(true)
    await gateway.close()
    expect(isAlive(status?.pid ?? 0)).toBe(false)
  })
})
