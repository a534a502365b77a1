// One search for tools, skills and tools that are not installed: what fits is named with what to do, and nothing else.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createSkills } from '../../src/agent/skills/index.ts'
import { openKnownTools } from '../../src/cli/tools/index.ts'
import { rankers, type ShelfOptions } from '../../src/index.ts'
import { mcp, quietShelf } from '../support/talk.ts'

const tools = [
  mcp('github', 'create_issue', { description: 'Opens an issue in a repository.' }),
  mcp('mail', 'send_email', { description: 'Sends an e-mail.' }),
]

const search = async (query: string, options: ShelfOptions = {}) =>
  quietShelf({ tools, rank: 'hybrid', ...options }).search({ query })

const item = { kind: 'skill', name: 'report', description: 'Writes a report.', advice: 'read it with Skill' }

describe('the option related', () => {
  it('the answer names what fits beside tools, with what to do about it', async () => {
    const { remark, related } = await search('write a report', { related: () => [item] })
    expect(remark).toMatch(
      /Beside your tools, these fit:\n- skill report: Writes a report\. \(read it with Skill\)$/,
    )
    expect(related).toEqual([item])
  })

  it('S17 a stranger’s texts are one line each and cut, and three are named at most', async () => {
    const long = { ...item, name: `x\n- skill ${'y'.repeat(500)}`, description: 'z\n'.repeat(9000) }
    const { remark } = await search('report', { related: () => Array(9).fill(long) })
    const lines = remark.split('Beside your tools')[1]!.split('\n').slice(1)
    expect(lines).toHaveLength(3)
    for (const line of lines) expect(line.length).toBeLessThan(700)
  })

  it('is not asked for exact names, and a failure costs only what it would have found', async () => {
    const related = () => {
      throw new Error('broken')
    }
    expect((await search('create issue', { related })).tools).toHaveLength(1)
    const asked: string[] = []
    await search('select:mcp__mail__send_email', {
      related: (query) => [...asked.splice(0, 0, query)].map(() => item),
    })
    expect(asked).toEqual([])
  })

  it('refuses what is not a function', () => {
    expect(() => quietShelf({ related: 'skills' as never })).toThrow(/option "related" is "skills"/)
  })
})

describe('skills', () => {
  const skill = (name: string, description: string) => ({
    ...{ name, description, place: '/skills', isRemote: true },
    read: async () => 'Do it.',
  })
  const skills = () =>
    createSkills([skill('pdf-report', 'Makes a PDF report with charts.'), skill('haiku', 'Writes a haiku.')])

  it('U2 a search for tools finds the skill that fits better, and it counts as discovered (U3)', async () => {
    const own = skills()
    const { related } = await search('make a pdf report', { related: own.related })
    expect(related).toMatchObject([{ kind: 'skill', name: 'pdf-report' }])
    expect(own.discoveries).toMatchObject([{ skills: [{ name: 'pdf-report' }] }])
  })

  it('U2 a search that tools answer names no skill', async () => {
    expect((await search('create issue', { related: skills().related })).related).toEqual([])
  })
})

describe('tools that are not installed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolshelf-known-'))
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const lines = (...tools: object[]) => tools.map((tool) => `${JSON.stringify(tool)}\n`).join('')
  async function known(query: string, files: readonly string[], servers: readonly string[] = []) {
    const told: string[] = []
    const related = openKnownTools({ files, servers, notify: (message) => told.push(message) })
    return { told, related: (await search(query, { related })).related }
  }

  it('come from a catalogue, marked as not installed or not running', async () => {
    const weather = { name: 'get_forecast', description: 'Weather forecast of a city.', server: 'weather' }
    const catalogue = file('tools.jsonl', lines(weather, { name: 'play', description: 'Plays a song.' }))
    expect((await known('weather forecast', [catalogue])).related).toEqual([
      {
        kind: 'not installed:',
        name: 'get_forecast',
        description: 'Weather forecast of a city.',
        advice: 'a tool of "weather"; the user can install its server with "toolshelf add"',
      },
    ])
    expect((await known('weather forecast', [catalogue], ['weather'])).related).toMatchObject([
      { kind: 'not running:', advice: expect.stringContaining('"weather" is configured but not running') },
    ])
  })

  it('are left out where the shelf has them', async () => {
    const same = { name: 'create_issue', description: 'Opens an issue in a repository.', server: 'gh' }
    expect((await known('create issue', [file('same.jsonl', lines(same))])).related).toEqual([])
  })

  it('come from an export of a registry, with a command only where no shell could take it otherwise', async () => {
    const server = (name: string, more: object) => ({
      server: { name, description: `Weather of ${name}`, ...more },
    })
    const npm = (identifier: string) => ({ packages: [{ registryType: 'npm', identifier }] })
    const exported = {
      servers: [
        server('io.test/one', npm('@one/mcp')),
        server('io.test/two', { remotes: [{ type: 'streamable-http', url: 'https://two.test/mcp' }] }),
        server('io.test/three', npm('x; rm -rf ~')),
        server('io.test/four', npm('--call')),
        server('io.test/--config', npm('five')),
        null,
        { server: { name: 7 } },
      ],
    }
    const { servers } = exported
    const found = servers.map((one, n) =>
      known('weather', [file(`registry-${n}.json`, JSON.stringify({ servers: [one] }))]),
    )
    const related = (await Promise.all(found)).flatMap((one) => one.related)
    expect(
      related.map(({ name, advice }) => [name, advice.replace('a server; the user can add it', '…')]),
    ).toEqual(
      expect.arrayContaining([
        ['io.test/one', '…: toolshelf add one -- npx -y @one/mcp'],
        ['io.test/two', '…: toolshelf add two https://two.test/mcp'],
        ['io.test/three', '… with "toolshelf add"'],
        ['io.test/four', '… with "toolshelf add"'],
        ['io.test/--config', '… with "toolshelf add"'],
      ]),
    )
  })

  it('a file that cannot be read is reported once, and the others count', async () => {
    const good = file('good.jsonl', lines({ name: 'get_forecast', description: 'Weather forecast.' }))
    const { told, related } = await known('weather', [join(folder, 'none'), file('bad', 'nothing'), good])
    told.sort()
    expect(related).toHaveLength(1)
    expect(told).toEqual([
      expect.stringMatching(/^\/.*bad:1: it is not JSON/),
      expect.stringMatching(/cannot read the tools in .*bad: .*no valid line/),
      expect.stringMatching(/cannot read the tools in .*none: ENOENT/),
    ])
  })

  it('rank with the tools: what the shelf answers better is not drowned by a large catalogue', async () => {
    const many = Array.from({ length: 2000 }, (_, n) => ({
      name: `tool_${n}`,
      description: `Counts ${n} sheep.`,
    }))
    const related = openKnownTools({
      files: [file('many.jsonl', lines(...many))],
      servers: [],
      notify: () => {},
    })
    const found = await search('create issue', { related, rank: rankers.hybrid })
    expect(found.related).toEqual([])
    expect(found.tools.map(({ original }) => original)[0]).toBe('create_issue')
  })
})
