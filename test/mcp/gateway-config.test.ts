// A configuration that changes while the gateway runs: what is new is there, what is gone is gone, the rest stays.
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, it } from 'vitest'
import type { ServerConfig } from '../../packages/mcp/src/types.ts'
import { binary } from '../../packages/testkit/src/binary.ts'
import { temporaryFolder } from './support/folder.ts'
import { connectWith, type Era, eras, openDesk, textOf } from './support/gateway.ts'
import { openHttp } from './support/gateway-http.ts'
import { piped } from './support/piped.ts'
import { isAlive, until } from './support/processes.ts'
import { scriptPath } from './support/servers.ts'
import { listed, neighbour, tool } from './support/small-servers.ts'

const pidOf = (host: { status(): readonly { name: string; pid: number | undefined }[] }, name: string) =>
  host.status().find((one) => one.name === name)?.pid

const LISTS = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }

/** A client that hears of changes; one of the newest protocol uses what it has listed until then. */
async function openListening(servers: readonly ServerConfig[], era: Era, mode: 'auto' | 'bridge' = 'auto') {
  const desk = await openDesk(servers, { mode, client: { era } })
  if (era === 'modern') await desk.client.listen(LISTS)
  return desk
}

describe.each(eras)('other servers, %s', (era) => {
  it('a new one is named and found, one that is the same stays connected', async () => {
    const same = piped('neighbour', 'healthy')
    const desk = await openListening([same], era, 'bridge')
    const pid = pidOf(desk.host, 'neighbour')
    const described = async () => (await desk.client.listTools()).tools[0]?.description
    expect(await described()).not.toContain('paint')
    await desk.host.configure([same, listed('paint', [tool('draw')]).config])
    await until(
      async () => (await described())?.includes('services: neighbour, paint.') ?? false,
      'it is named',
    )
    expect(await desk.search('paint draw')).toContain('paint__draw')
    expect(textOf(await desk.run('paint__draw'))).toContain('called draw')
    expect(pidOf(desk.host, 'neighbour')).toBe(pid)
  })

  it('a removed one is neither found nor called, and its process ends', async () => {
    const desk = await openListening([neighbour(), piped('other', 'healthy')], era)
    const pid = pidOf(desk.host, 'other') ?? 0
    await desk.search('select:other__add')
    await desk.host.configure([neighbour()])
    await until(() => !isAlive(pid), 'its process is gone')
    expect(await desk.search('add numbers')).not.toContain('other__add')
    expect(await desk.names()).not.toContain('other__add')
    expect(await desk.run('other__add', { a: 1, b: 2 })).toMatchObject({ isError: true })
    expect(textOf(await desk.run('neighbour__add', { a: 1, b: 2 }))).toBe('3')
  })

  it('prompts and resources follow, under URIs that lead to their own server', async () => {
    const resources = [{ uri: 'x://one', name: 'one' }]
    const offering = (name: string) => {
      const one = listed(name)
      one.write([], undefined, { resources, prompts: [{ name: 'greet' }] })
      return one.config
    }
    const desk = await openListening([offering('first')], era)
    await desk.client.listPrompts()
    await desk.host.configure([offering('second')])
    const uris = async () => (await desk.client.listResources()).resources.map(({ uri }) => uri)
    await until(async () => (await uris()).join() === 'second+x://one', 'the resources are the new ones')
    const names = async () => (await desk.client.listPrompts()).prompts.map(({ name }) => name)
    await until(async () => (await names()).join() === 'second__greet', 'the prompts are the new ones')
    const { contents } = await desk.client.readResource({ uri: 'second+x://one' })
    expect(contents[0]).toMatchObject({ text: 'second read x://one' })
    await expect(desk.client.readResource({ uri: 'first+x://one' })).rejects.toThrow('unknown server "first"')
    for (const list of ['prompts', 'resources'])
      expect(desk.told.map(({ method }) => method)).toContain(`notifications/${list}/list_changed`)
  })
})

describe('a server whose entry changes', () => {
  const rules = (given: Partial<ServerConfig>) => ({ ...neighbour(), ...given })

  it('follows its new rules at once', async () => {
    const desk = await openDesk([rules({})])
    await desk.host.configure([rules({ deny: ['echo'] })])
    expect(await desk.search('select:neighbour__echo')).toContain('There is no tool named')
    await desk.host.settled()
    expect(await desk.search('select:neighbour__echo')).toContain('There is no tool named')
    await desk.host.configure([rules({ alwaysLoad: true })])
    await desk.host.settled()
    expect(await desk.names()).toEqual(['ToolSearch', 'neighbour__add', 'neighbour__echo'])
    await desk.host.configure([rules({})])
    await desk.host.settled()
    expect(await desk.names()).toEqual(['ToolSearch'])
  })

  it('answers the calls that it has, and takes no tools of another program along', async () => {
    const before = piped('one', 'results')
    const desk = await openDesk([before])
    let isUnderWay = false
    const onprogress = () => {
      isUnderWay = true
    }
    const slow = desk.call('one__slow', { steps: 10, pause: 100 }, { onprogress })
    await until(() => isUnderWay, 'it is under way')
    await desk.host.configure([listed('one', [tool('other')]).config])
    expect(await desk.search('select:one__slow')).toContain('There is no tool named')
    expect(await slow).not.toMatchObject({ isError: true })
    expect(textOf(await desk.call('one__other'))).toContain('called other')
  })
})

it('clients over HTTP hear of it, whether they have a session or not', async () => {
  const { host, connect } = await openHttp([neighbour()])
  const [older, newer] = [await connect({ era: 'legacy' }), await connect({ era: 'modern' })]
  await newer.client.listen(LISTS)
  await host.configure([neighbour(), listed('paint', [tool('draw')]).config])
  for (const { told, client } of [older, newer]) {
    await until(
      () => told.some(({ method }) => method === 'notifications/tools/list_changed'),
      'the client was told',
    )
    expect((await client.listTools()).tools[0]?.description).toContain('neighbour, paint.')
  }
})

it('toolshelf mcp takes up a changed file, and keeps its servers while the file cannot be read', async () => {
  const folder = temporaryFolder()
  const config = join(folder, 'servers.json')
  const healthy = { command: process.execPath, args: [scriptPath('healthy')] }
  const write = (text: string) => {
    writeFileSync(`${config}.new`, text)
    renameSync(`${config}.new`, config)
  }
  const servers = (...names: string[]) =>
    write(JSON.stringify({ mcpServers: Object.fromEntries(names.map((name) => [name, healthy])) }))
  servers('first')
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...binary, 'mcp', '--config', config],
    env: { PATH: process.env.PATH ?? '', HOME: folder, XDG_CACHE_HOME: folder, XDG_STATE_HOME: folder },
    stderr: 'pipe',
  })
  let told = ''
  transport.stderr?.on('data', (chunk: Buffer) => {
    told += chunk
  })
  const desk = await connectWith(transport)
  const sum = async (server: string) => textOf(await desk.call(`${server}__add`, { a: 1, b: 2 }))
  expect(await sum('first')).toBe('3')

  servers('first', 'second')
  await until(() => told.includes('changed: added second.'), 'it is told')
  expect(await sum('second')).toBe('3')

  write('{ "mcpServers": ')
  await until(() => told.includes('its servers as they are'), 'the mistake is told')
  expect(await sum('first')).toBe('3')

  servers('second')
  await until(() => told.includes('changed: removed first.'), 'it is told')
  expect(await desk.call('first__add', { a: 1, b: 2 })).toMatchObject({ isError: true })
  expect(await sum('second')).toBe('3')
})
