// Ten real servers behind one gateway, and each of the traps that they are known for. None of them reaches a network.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ServerStatus } from '../../packages/mcp/src/types.ts'
import type { Loose } from '../../packages/testkit/src/talk.ts'
import { type Desk, type Open, openGateway, textOf } from './support/gateway.ts'
import { describeOthers, realServer, triedServers } from './support/real-servers.ts'
import { listed } from './support/small-servers.ts'

let open: Open
let desk: Desk
let folder = ''
const ends: (() => Promise<void>)[] = []
const atEnd = (work: () => Promise<void>) => void ends.unshift(work)

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'toolshelf-real-'))
  writeFileSync(join(folder, 'note.txt'), 'the note says seven')
  const servers = triedServers.map((name) => realServer(name, folder))
  open = openGateway(servers, { cacheFolder: join(folder, 'cache'), atEnd })
  desk = await open.connect({ atEnd })
  await open.host.settled()
}, 60_000)

afterAll(async () => {
  for (const end of ends) await end()
  rmSync(folder, { recursive: true, force: true })
})

function statusOf(name: string): ServerStatus {
  const status = open.host.status().find((one) => one.name === name)
  if (!status) throw new Error(`there is no server ${name}`)
  return status
}

const entryOf = (name: string) => {
  const entry = open.shelf.partition().pool.byName.get(name)
  if (!entry) throw new Error(`there is no tool ${name}`)
  return entry
}

/** Of a server that is tried; the name of a tool begins with its server's. */
const isTried = (name: string) => triedServers.includes(name.split('__')[0] ?? '')

const counts: readonly (readonly [string, number, readonly string[]])[] = (
  [
    ['everything', 12, ['echo', 'get-sum', 'trigger-long-running-operation']],
    ['filesystem', 14, ['read_text_file', 'write_file', 'list_allowed_directories']],
    ['memory', 9, ['create_entities', 'read_graph']],
    ['thinking', 1, ['sequentialthinking']],
    ['github', 26, ['create_issue', 'search_repositories']],
    ['gitlab', 9, ['create_issue', 'search_repositories']],
    ['supabase', 31, ['list_projects', 'execute_sql']],
    ['resend', 105, ['send-email', 'list-domains']],
    ['notion', 24, ['API-get-self', 'API-post-search']],
    ['amap', 12, ['maps_weather', 'maps_geo']],
  ] as const
).filter(([name]) => isTried(name))
const total = counts.reduce((sum, [, count]) => sum + count, 0)

describeOthers('connected', () => {
  it.each(counts)('%s: %i tools', (name, count, some) => {
    const { state, reason, tools } = statusOf(name)
    expect(reason).toBeUndefined()
    expect(state).toBe('connected')
    const names = tools.map((tool) => tool.name)
    expect(names).toHaveLength(count)
    expect(names).toEqual(expect.arrayContaining([...some]))
  })

  const protocols = [
    ['supabase', '2026-07-28'],
    ['resend', '2026-07-28'],
    ['everything', '2025-11-25'],
    ['github', '2024-11-05'],
  ] as const
  it.each(protocols.filter(([name]) => isTried(name)))('%s speaks %s', (name, protocol) => {
    expect(statusOf(name).protocol).toBe(protocol)
  })

  it('all tools are found under a name of their own, and the client takes every definition', async () => {
    const { pool } = open.shelf.partition()
    expect(pool.tools).toHaveLength(total)
    const names = pool.tools.map(({ name }) => name)
    for (const name of names) expect(name).toMatch(/^[\w-]{1,64}$/)
    const other = await open.connect({ atEnd })
    // A search loads what fits an answer, and the list drops what was loaded first: each must be there once.
    let left = names
    for (let count = Number.POSITIVE_INFINITY; left.length < count; ) {
      count = left.length
      await other.search(`select:${left.slice(0, 60).join(',')}`)
      const shown = new Set(await other.names())
      left = left.filter((name) => !shown.has(name))
    }
    expect(left).toEqual([])
  })

  it('what they say of themselves is joined for the next client', async () => {
    const { client } = await open.connect({ atEnd })
    const instructions = client.getInstructions() ?? ''
    expect(instructions).toContain(`behind ToolSearch: ${triedServers.slice(0, 3).join(', ')}`)
    expect(instructions).toMatch(/## everything\n.*## supabase\n/s)
    expect(instructions.length).toBeLessThanOrEqual(4096)
  })
})

describeOthers('definitions', () => {
  it('gitlab: all nine schemas lack their type; repaired, reported, and none is lost', () => {
    const { problems, tools } = statusOf('gitlab')
    expect(problems.map(({ kind }) => kind)).toEqual(Array(9).fill('repaired'))
    for (const { message } of problems) expect(message).toMatch(/has no type; "object" is used instead/)
    for (const { inputSchema } of tools) expect(inputSchema).toMatchObject({ type: 'object' })
  })

  it('everything: a tool that runs only as a task is left out, and reported', () => {
    const { problems, tools } = statusOf('everything')
    expect(problems).toMatchObject([{ tool: 'simulate-research-query', kind: 'unsupported' }])
    expect(tools.map(({ name }) => name)).not.toContain('simulate-research-query')
  })

  it('no other server has a problem', () => {
    const others = open.host.status().filter(({ name }) => !['gitlab', 'everything'].includes(name))
    expect(others.flatMap(({ problems }) => problems)).toEqual([])
  })

  it('github and gitlab share eight names; each keeps its own, whoever comes first', async () => {
    const own = (name: string) => statusOf(name).tools.map((tool) => tool.name)
    const shared = own('github').filter((name) => own('gitlab').includes(name))
    expect(shared).toHaveLength(8)
    for (const name of shared) {
      expect(entryOf(`github__${name}`).server).toBe('github')
      expect(entryOf(`gitlab__${name}`).server).toBe('gitlab')
    }
    // The same tools again, from servers that come in another order.
    const again = (name: string) => listed(name, [...statusOf(name).tools] as object[]).config
    const turned = openGateway([again('gitlab'), again('github')])
    await turned.connect()
    await turned.host.settled()
    const names = ({ shelf }: Open) =>
      shelf
        .partition()
        .pool.tools.flatMap(({ name, server }) => (server?.startsWith('git') ? [`${name} of ${server}`] : []))
        .sort()
    expect(names(turned)).toEqual(names(open))
  })

  it('notion: every reference leads somewhere, for the model and for the client', async () => {
    await desk.search('+notion page', { max_results: 50 })
    const { tools } = await desk.raw('tools/list')
    const listed = tools.filter(({ name }: Loose) => name.startsWith('notion__'))
    const schemas = [
      ...listed.map(({ inputSchema }: Loose) => inputSchema),
      ...statusOf('notion').tools.map(({ name }) => JSON.parse(entryOf(`notion__${name}`).json).input_schema),
    ]
    const references = schemas.flatMap((schema) => referencesOf(schema).map((path) => ({ schema, path })))
    expect(references.length).toBeGreaterThan(100)
    for (const { schema, path } of references) expect(resolve(schema, path), path).toBeDefined()
  })

  const longTexts = [
    ['thinking__sequentialthinking', 'satisfactory'],
    ['resend__create-automation', 'starts_with'],
  ] as const
  it.each(longTexts.filter(([name]) => isTried(name)))(
    '%s: its long text is cut for the model and whole for a search (H5)',
    async (name, word) => {
      const { definition, server, original } = entryOf(name)
      const whole = statusOf(server ?? '').tools.find((tool) => tool.name === original)?.description ?? ''
      expect(whole.length).toBeGreaterThan(2048)
      expect(whole).toContain(word)
      expect(String(definition.description).length).toBeLessThanOrEqual(2048)
      expect(definition.description).not.toContain(word)
      expect(await desk.search(word)).toContain(name)
      const listed = (await desk.raw('tools/list')).tools.find((tool: Loose) => tool.name === name)
      expect(listed.description).toBe(definition.description)
    },
  )

  it('what a server adds to a definition is passed on: output schemas, hints, titles', async () => {
    await desk.search('select:filesystem__read_text_file')
    const listed = (await desk.raw('tools/list')).tools.find(
      (tool: Loose) => tool.name === 'filesystem__read_text_file',
    )
    const own: Loose = statusOf('filesystem').tools.find((tool) => tool.name === 'read_text_file')
    for (const key of ['title', 'outputSchema', 'annotations', 'inputSchema'])
      expect(listed[key]).toEqual(own[key])
    expect(listed.outputSchema).toBeDefined()
  })
})

describeOthers('searches', () => {
  const searches = [
    ['天气', 'amap__maps_weather'],
    ['骑行', 'amap__maps_bicycling'],
    ['weather of a city', 'amap__maps_weather'],
    ['send an email', 'resend__send-email'],
    ['+gitlab create issue', 'gitlab__create_issue'],
    ['execute sql', 'supabase__execute_sql'],
  ] as const
  it.each(searches.filter(([, name]) => isTried(name)))('%s finds %s (S14)', async (query, name) => {
    expect(await desk.search(query)).toContain(`- ${name}:`)
  })
})

describeOthers('calls', () => {
  it.runIf(isTried('memory'))('memory does what it is asked', async () => {
    const { call } = desk
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['counts'] }]
    await call('memory__create_entities', { entities })
    expect((await call('memory__read_graph')).structuredContent.entities).toMatchObject(entities)
  })

  it.runIf(isTried('thinking'))('thinking does what it is asked', async () => {
    const thought = { thought: 'well', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 }
    expect((await desk.call('thinking__sequentialthinking', thought)).isError).toBeFalsy()
  })

  it('everything and filesystem do what they are asked', async () => {
    const { call } = desk
    expect(textOf(await call('everything__echo', { message: 'hi' }))).toContain('hi')
    const path = join(folder, 'note.txt')
    const read = await call('filesystem__read_text_file', { path })
    expect(read.structuredContent).toEqual({ content: 'the note says seven' })
    const outside = await call('filesystem__read_text_file', { path: '/etc/hostname' })
    expect(outside.isError).toBe(true)
    expect(textOf(outside)).toContain('Access denied')
  })

  it('progress of a long operation', async () => {
    const seen: Loose[] = []
    const onprogress = ({ progress }: Loose) => seen.push(progress)
    await desk.call('everything__trigger-long-running-operation', { duration: 0.2, steps: 2 }, { onprogress })
    expect(seen).toEqual([1, 2])
  })

  const failing = [
    ['github__search_repositories', { query: 'x' }, 'thrown'],
    ['gitlab__search_repositories', { search: 'x' }, 'thrown'],
    ['notion__API-get-self', {}, 'thrown'],
    ['supabase__list_projects', {}, 'result'],
    ['resend__list-domains', {}, 'result'],
    ['amap__maps_weather', { city: '北京' }, 'result'],
  ] as const
  it.each(failing.filter(([name]) => isTried(name)))(
    '%s fails without a network with the server’s own error, and the server stays alive',
    async (name, input, kind) => {
      const outcome = await desk.call(name, input).then(
        (result) => ({ kind: result.isError ? 'result' : 'none', text: textOf(result) }),
        (error: Error & { code?: number }) => ({ kind: error.code ? 'thrown' : 'none', text: error.message }),
      )
      expect(outcome).toEqual({ kind, text: expect.stringMatching(/offline|fetch|failed|resolved/i) })
      const [server = ''] = name.split('__')
      expect(statusOf(server).state).toBe('connected')
    },
  )

  it('prompts, resources and completions of everything', async () => {
    const { client } = desk
    const { resources } = await client.listResources()
    const uri = resources.find((one) => one.uri.startsWith('everything+'))?.uri ?? ''
    expect((await client.readResource({ uri })).contents[0]?.uri).toBe(uri)
    const prompt = await client.getPrompt({ name: 'everything__args-prompt', arguments: { city: 'Rome' } })
    expect(JSON.stringify(prompt.messages)).toContain('Rome')
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: 'everything__completable-prompt' },
      argument: { name: 'department', value: 'E' },
    })
    expect(completion.values).toContain('Engineering')
  })
})

function referencesOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    key === '$ref' && typeof inner === 'string' ? [inner] : referencesOf(inner),
  )
}

function resolve(schema: unknown, path: string): unknown {
  const parts = path.replace(/^#\/?/, '').split('/').filter(Boolean)
  return parts.reduce<Loose>(
    (at, part) => at?.[decodeURIComponent(part).replace('~1', '/').replace('~0', '~')],
    schema,
  )
}
