// The files of deploy/: what they name exists, and the processes of the compose file come up without containers.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { mcpCommand } from '../../packages/cli/src/mcp.ts'
import { heardFrom } from '../../packages/testkit/src/heard.ts'
import { isThorough } from '../../packages/testkit/src/runs.ts'
import type { Loose } from '../../packages/testkit/src/talk.ts'
import { temporaryFolder } from '../mcp/support/folder.ts'
import { textOf } from '../mcp/support/gateway.ts'
import { descendantsOf, isAlive, until } from '../mcp/support/processes.ts'
import { script } from '../mcp/support/shell-server.ts'
import { connectTo } from './support/clients.ts'

const folder = fileURLToPath(new URL('../../deploy/', import.meta.url))
const read = (file: string) => readFileSync(join(folder, file), 'utf8')

/** Every document of a YAML file; merge keys are not used. */
function documentsIn(file: string): Loose[] {
  const documents = parseAllDocuments(read(file))
  if (!Array.isArray(documents)) throw new Error(`${file} is empty`)
  return documents.map((document) => {
    expect(document.errors).toEqual([])
    expect(document.warnings).toEqual([])
    return document.toJS() as Loose
  })
}

/** The words must be a command line that `toolshelf mcp` takes. */
function expectOptionsOfMcp(words: readonly string[]): void {
  expect(words[0]).toBe('mcp')
  const names = words.filter((word) => word.startsWith('--')).map((word) => word.slice(2).split('=')[0] ?? '')
  expect(names.filter((name) => !(name in mcpCommand.options))).toEqual([])
}

const isPinned = (image: string) => /^[\w./-]+:\d+\.\d+\.\d+[\w.-]*$/.test(image)

describe('the image', () => {
  const lines = read('Dockerfile').split('\n')
  const rest = (verb: string) =>
    lines.filter((line) => line.startsWith(`${verb} `)).map((line) => line.slice(verb.length + 1))

  it('has one pinned base, a user that is not root, a health check by Node, and a command that exists', () => {
    const bases = rest('FROM').map((line) => line.split(' ')[0] ?? '')
    expect(new Set(bases).size).toBe(1)
    expect(bases.every(isPinned)).toBe(true)
    expect(rest('USER')).toEqual(['1000:1000'])
    expect(rest('HEALTHCHECK')[0]).toContain('CMD ["node", "/opt/toolshelf/healthcheck.mjs"]')
    expectOptionsOfMcp(JSON.parse(rest('CMD')[0] ?? ''))
  })

  it('the health check exits with 0 or 1', async () => {
    const url = (await connectless()).url
    const status = (at: string) =>
      new Promise<number | null>((resolve) => {
        const child = spawn(process.execPath, [join(folder, 'healthcheck.mjs')], {
          env: { TOOLSHELF_HEALTH_URL: at },
          stdio: 'ignore',
        })
        child.once('exit', resolve)
      })
    expect(await status(`${url}/health`)).toBe(0)
    expect(await status(`${url}/nothing`)).toBe(1)
    expect(await status('http://127.0.0.1:1/health')).toBe(1)
  })
})

/** A gateway without servers, in this process. */
async function connectless() {
  const { createMessagesGateway } = await import('../../packages/messages/src/gateway.ts')
  const { createScriptUpstream } = await import('../../packages/messages/src/upstream/script.ts')
  const { readScript } = await import('../../packages/messages/src/upstream/script-file.ts')
  const { serveMessagesGateway } = await import('../../packages/cli/src/http/messages/server.ts')
  const upstream = createScriptUpstream({
    script: readScript({ rules: [{ when: 'bye', do: [{ say: 'bye' }] }], otherwise: 'hi' }),
  })
  const served = await serveMessagesGateway({ gateway: createMessagesGateway({ upstream }), port: 0 })
  onTestFinished(() => served.close())
  return served
}

it('compose.yaml: pinned images, files that exist, health checks, options of this version', () => {
  const [compose] = documentsIn('compose.yaml')
  const services = Object.entries((compose as Loose).services as Record<string, Loose>)
  expect(services.map(([name]) => name)).toEqual(['gateway-1', 'gateway-2', 'balancer', 'valkey'])
  for (const [name, service] of services) {
    const isOwn = name.startsWith('gateway-')
    if (isOwn) {
      expectOptionsOfMcp(service.command)
      expect(service.cap_drop).toEqual(['ALL'])
      // Docker mounts with `noexec` otherwise, and no program that npx downloads would start.
      expect(service.tmpfs).toContainEqual(expect.stringMatching(/^\/home\/node:(?:.*,)?exec,/))
      expect(read('Caddyfile')).toContain(`${name}:3399`)
    } else {
      expect(isPinned(service.image)).toBe(true)
      expect(service.healthcheck.test[0]).toBe('CMD')
    }
    for (const volume of service.volumes as string[]) {
      const [from = ''] = volume.split(':')
      if (from.startsWith('.')) expect(existsSync(join(folder, from))).toBe(true)
    }
  }
  expect(read('gateway.env.example')).toMatch(/^TOOLSHELF_KEY=$/m)
})

describe('the manifests', () => {
  const documents = readdirSync(join(folder, 'kubernetes')).flatMap((file) =>
    documentsIn(`kubernetes/${file}`),
  )
  const kind = (name: string) => documents.find((document) => document.kind === name) as Loose

  it('belong together', () => {
    const { spec } = kind('Deployment')
    const labels = spec.template.metadata.labels
    expect(spec.selector.matchLabels).toEqual(labels)
    expect(kind('Service').spec.selector).toEqual(labels)
    for (const name of ['PodDisruptionBudget']) expect(kind(name).spec.selector.matchLabels).toEqual(labels)
    expect(kind('NetworkPolicy').spec.podSelector.matchLabels).toEqual(labels)
    expect(kind('HorizontalPodAutoscaler').spec.scaleTargetRef.name).toBe(kind('Deployment').metadata.name)
  })

  it('probe health and readiness, wait for the drain, and run without rights', () => {
    const pod = kind('Deployment').spec.template.spec
    const [gateway] = pod.containers
    expectOptionsOfMcp(gateway.args)
    expect(isPinned(gateway.image)).toBe(true)
    expect(gateway.livenessProbe.httpGet.path).toBe('/health')
    expect(gateway.readinessProbe.httpGet.path).toBe('/ready')
    const delay = Number(/--drain-delay=(\d+)/.exec(gateway.args.join())?.[1])
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(delay + 25 + 5)
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000 })
    expect(gateway.securityContext).toMatchObject({
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
  })

  it('hold no secret', () => {
    expect(documents.map((document) => document.kind)).not.toContain('Secret')
    expect(kind('Deployment').spec.template.spec.containers[0].envFrom).toEqual([
      { secretRef: { name: 'toolshelf' } },
    ])
  })
})

/** The command line of a process; empty if it has ended. */
function readCommand(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

const hasStore = ['valkey-server', 'redis-server'].some((name) => spawnSync(name, ['--version']).status === 0)
if (!hasStore)
  console.warn('neither valkey-server nor redis-server is on PATH: deploy/local.mjs is tried without a store')

/** In a shell, which starts in a few milliseconds: each gateway has one of its own. */
const addsTwo = script({
  initialize:
    'reply \'{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}\'',
  'tools/list':
    'reply \'{"tools":[{"name":"add","description":"Adds two numbers","inputSchema":{"type":"object"}}]}\'',
  'tools/call': `a=\${line##*'"a":'}; reply '{"content":[{"type":"text","text":"'$((\${a%%[,\\}]*} + 2))'"}]}'`,
})

// The same processes serve test/replicas/processes.test.ts in every run.
it.runIf(isThorough)('local.mjs: the processes of compose.yaml come up, answer, and end', async () => {
  const home = temporaryFolder()
  const config = join(home, 'servers.json')
  writeFileSync(config, JSON.stringify({ mcpServers: { calculator: addsTwo } }))
  const words = ['local.mjs', '--config', config, '--port', '0', ...(hasStore ? [] : ['--no-store'])]
  const child: ChildProcess = spawn(process.execPath, words, {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOME: home, XDG_CACHE_HOME: home, XDG_STATE_HOME: home },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const exit = once(child, 'exit')
  // Killed, it would leave its gateways behind.
  onTestFinished(async () => {
    if (child.kill('SIGTERM')) await exit
  })
  const { told } = heardFrom(child)
  await until(() => /local: ready at/.test(told()) || child.exitCode !== null, told)
  const url = /local: ready at (\S+),/.exec(told())?.[1] ?? ''
  const family = descendantsOf(child.pid ?? 0)
  const desk = await connectTo(url, { era: 'modern' })
  expect(await desk.search('adds two numbers')).toContain('calculator__add')
  for (const a of [1, 2, 3, 4])
    expect(textOf(await desk.run('calculator__add', { a, b: 2 }))).toBe(String(a + 2))
  const ready = () => fetch(new URL('/ready', url))
  expect((await ready()).status).toBe(200)
  const store = family.find((pid) => /^(?:redis|valkey)-server/.test(readCommand(pid)))
  expect(store !== undefined).toBe(hasStore)
  if (store !== undefined) {
    process.kill(store, 'SIGKILL')
    const isLost = async () => {
      await new Promise((resolve) => setTimeout(resolve, 250))
      return (await Promise.all([ready(), ready()])).every(({ status }) => status === 503)
    }
    await until(isLost, 'both gateways notice that the store is gone')
    expect(await (await ready()).json()).toEqual({ status: 'not ready', reasons: ['store unreachable'] })
    expect((await fetch(new URL('/health', url))).status).toBe(200)
    expect(textOf(await desk.run('calculator__add', { a: 5, b: 2 }))).toBe('7')
  }
  child.kill('SIGTERM')
  expect(await exit).toEqual([0, null])
  await until(() => !family.some(isAlive), 'all processes are gone')
})
