// A server that repeats its whole command line and environment: no secret of it reaches anybody, by any way but a result.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeReport } from '../../packages/cli/src/doctor/report.ts'
import { terminalView } from '../../packages/cli/src/doctor/terminal.ts'
import { inspectedServers } from '../../packages/cli/src/gateway/inspected-servers.ts'
import { cleanText } from '../../packages/core/src/lib/text.ts'
import { serverViews } from '../../packages/inspector/src/server/views.ts'
import { openPins } from '../../packages/mcp/src/pins/pins.ts'
import type { Progress, ServerConfig } from '../../packages/mcp/src/types.ts'
import { temporaryFolder } from './support/folder.ts'
import { openGateway } from './support/gateway.ts'
import { openHost, statusOf, textOf, untilState } from './support/host.ts'
import { until } from './support/processes.ts'
import { local } from './support/servers.ts'

const secrets = {
  assigned: 'ghp_assigned4711aB',
  header: 'header4712aBcDeF',
  flag: 'sk-positional4713',
  password: 'p4ssw0rd4714xyz',
  json: 'json4715aBcDeF',
  environment: 'environment-value-4716',
  variable: 'variable4717 with blanks',
}

function echo(behaviour: string): ServerConfig {
  const server = local('echo', `hostile-echo ${behaviour}`, {
    env: { ACME: secrets.environment, MODE: 'debug' },
    variables: { THING: secrets.variable },
  })
  if (server.transport.kind !== 'stdio') throw new Error('it is local')
  const args = [
    ...server.transport.args,
    ...['-e', `TOKEN=${secrets.assigned}`, '--header', `Authorization: Bearer ${secrets.header}`],
    ...['--token', secrets.flag, `postgres://ann:${secrets.password}@db:5432/main`],
    ...[JSON.stringify({ apiKey: secrets.json }), secrets.variable],
  ]
  return { ...server, transport: { ...server.transport, args } }
}

function expectHidden(said: readonly unknown[]): void {
  const all = said.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join('\n')
  const joined = cleanText(all)
  for (const [kind, secret] of Object.entries(secrets)) {
    expect(all.includes(secret), kind).toBe(false)
    expect(joined.includes(secret), `${kind}, parted`).toBe(false)
    expect(all.includes(Buffer.from(secret).toString('base64').slice(0, -3)), kind).toBe(false)
  }
  expect(all).toContain('[hidden]')
}

const filesIn = (folder: string) =>
  readdirSync(folder).map((file) => readFileSync(join(folder, file), 'latin1') + file)
const never = { times: { firstRetryMs: 3_600_000 } }

describe('H8 a server that repeats its secrets', () => {
  it('as it fails to start: not in its reason, stderr, status, searches, calls, notices or the doctor', async () => {
    const { host, shelf, notices, events } = openHost([echo('start')], never)
    await untilState(host, 'echo', 'failed')
    const status = statusOf(host, 'echo')
    const report = makeReport(host.status())
    expect(status.stderr).toContain('debug')
    expect(status.stderr).toContain('postgres://ann:[hidden]@db:5432/main')
    expectHidden([
      status,
      await host
        .call('echo', 'x', {})
        .catch((error: Error) => [error.message, error.stack, String(error.cause)]),
      await host.run({ id: 'toolu_1', name: 'mcp__echo__x', input: {} }),
      (await shelf.search({ query: 'anything' })).remark,
      notices,
      events,
      JSON.stringify(report),
      await serverViews(inspectedServers({ host, shelf, onChange: 'report' })),
      terminalView(report, { isPlain: true, isColoured: false, width: 100, next: '' }),
    ])
  })

  it('while it runs: not in definitions, instructions, logs, progress, errors, the cache or the pins', async () => {
    const [cacheFolder, folder] = [temporaryFolder(), join(temporaryFolder(), 'pins')]
    const { host, shelf, notices, events } = openHost([echo('stay')], {
      cacheFolder,
      pins: openPins({ folder }),
    })
    await host.settled()
    const progress: Progress[] = []
    const spoken = await host.call('echo', 'speak', {}, { onProgress: (step) => progress.push(step) })
    await until(() => events.some(({ type }) => type === 'log'), 'it has logged')
    const refused = await host.call('echo', 'refuse', {}).catch((error: Error) => error)
    const { cause } = refused as Error & { cause: Error & { data: unknown } }
    const prompts = await host.request('echo', 'prompts/list')
    await until(() => filesIn(cacheFolder).length > 1, 'its definitions are kept')
    expect(progress).toHaveLength(1)
    expectHidden([
      statusOf(host, 'echo'),
      shelf.tools().map(({ json }) => json),
      shelf.servers().get('echo'),
      progress,
      events,
      notices,
      prompts,
      [String(refused), cause.message, cause.stack, cause.data],
      filesIn(cacheFolder),
      filesIn(folder),
    ])
    // The answer of a call is the server's own.
    expect(textOf(spoken as never)).toContain(secrets.assigned)
  })

  it('not in what a client of the gateway receives', async () => {
    const { connect, host } = openGateway([echo('stay')])
    const desk = await connect()
    await desk.names()
    await host.settled()
    const { prompts } = await desk.client.listPrompts()
    const again = await connect()
    expectHidden([
      await desk.search('refuse'),
      await desk.call('echo__refuse').catch(({ message, data }) => [message, data]),
      prompts,
      again.client.getInstructions(),
      await desk.client.getPrompt({ name: 'echo__leak' }).catch(({ message, data }) => [message, data]),
    ])
  })
})

it('H8 the name of a cached file cannot be used to test guesses of a secret', async () => {
  const folders = [temporaryFolder(), temporaryFolder()]
  const names: string[] = []
  for (const cacheFolder of folders) {
    const { host } = openHost([echo('stay')], { cacheFolder })
    await host.settled()
    await until(
      () => readdirSync(cacheFolder).some((file) => file.endsWith('.json')),
      'its definitions are kept',
    )
    names.push(...readdirSync(cacheFolder).filter((file) => file.endsWith('.json')))
  }
  expect(new Set(names).size).toBe(2)
})
