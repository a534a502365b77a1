// Rights through a real MCP client: over random catalogues and random rights, nothing hidden appears in any answer or can be
// used, and everything allowed can.
import type { Client } from '@modelcontextprotocol/client'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { AccessRules, Profile } from '../../packages/core/src/users.ts'
import { runs, seedOr } from '../../packages/testkit/src/runs.ts'
import type { Loose } from '../../packages/testkit/src/talk.ts'
import { openGateway, textOf } from '../mcp/support/gateway.ts'
import { type CatalogueServer, profileOf, startCatalogue } from './support.ts'

const LETTERS = 'bcdfghjkmnpqrstvwxz'
const marker = (kind: string, index: number, seed: number) => {
  let text = ''
  for (let i = 0, rest = seed * 7919 + index * 104_729 + 17; i < 6; i++) {
    text += LETTERS[rest % LETTERS.length]
    rest = Math.floor(rest / 3) + index * 31 + i
  }
  return `${kind}${index}${text}`
}

const catalogues = fc
  .record({
    seed: fc.nat(1_000_000),
    servers: fc.array(
      fc.record({
        tools: fc.integer({ min: 1, max: 4 }),
        isAlwaysLoaded: fc.boolean(),
        isBroken: fc.integer({ min: 0, max: 5 }).map((one) => one === 0),
      }),
      { minLength: 2, maxLength: 4 },
    ),
  })
  .map(({ seed, servers }) => {
    let index = 0
    const next = (kind: string) => marker(kind, ++index, seed)
    return servers.map(({ tools, ...flags }): CatalogueServer => {
      return {
        name: next('server'),
        tools: Array.from({ length: tools }, () => next('tool')),
        prompt: next('prompt'),
        resource: next('resource'),
        ...flags,
      }
    })
  })

/** Rules of names that exist, of patterns that match some, and of some that match nothing. */
function rulesOver(names: readonly string[], start = ''): fc.Arbitrary<AccessRules> {
  const pattern = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...names) },
    { weight: 1, arbitrary: fc.constantFrom(...names).map((name) => `${name.slice(0, -3)}*`) },
    { weight: 1, arbitrary: fc.constantFrom(...names).map((name) => `${start}*${name.slice(-4)}`) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        `${start}nothing`,
        `${start}*nothing*`,
        start === '' ? 'server1*' : 'server1*__*',
      ),
    },
  )
  return fc.record({
    allow: fc.oneof(fc.constant([]), fc.array(pattern, { maxLength: 3 })),
    deny: fc.array(pattern, { maxLength: 2 }),
  })
}

const cases = catalogues.chain((catalogue) =>
  fc.record({
    catalogue: fc.constant(catalogue),
    servers: rulesOver(catalogue.map(({ name }) => name)),
    tools: rulesOver(
      catalogue.flatMap(({ name, tools }) => tools.map((tool) => `${name}__${tool}`)),
      '*__',
    ),
    isModern: fc.boolean(),
    mode: fc.constantFrom('list' as const, 'bridge' as const),
  }),
)

/** What rules say, written once more and differently. */
function says({ allow, deny }: AccessRules, name: string): boolean {
  const fits = (pattern: string) =>
    new RegExp(
      `^${pattern
        .split('*')
        .map((part) => part.replace(/[^\w]/g, '\\$&'))
        .join('.*')}$`,
    ).test(name)
  return (allow.length === 0 || allow.some(fits)) && !deny.some(fits)
}

/** Sends requests, and keeps what was asked and what came back. */
function listenTo(client: Client) {
  const log: { readonly sent: string; readonly got: string }[] = []
  return {
    log,
    async ask(method: string, params: Loose = {}): Promise<Loose | undefined> {
      const anything = {
        '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
      }
      const sent = JSON.stringify([method, params])
      try {
        const answer = await client.request({ method, params } as never, anything as never)
        log.push({ sent, got: JSON.stringify(answer) })
        return answer as Loose
      } catch (error) {
        log.push({ sent, got: `${(error as Error).message} ${JSON.stringify((error as Loose).data ?? '')}` })
        return undefined
      }
    },
  }
}

test('nothing hidden appears in any answer or can be used; everything allowed can', async () => {
  await fc.assert(
    fc.asyncProperty(cases, async ({ catalogue, servers, tools, isModern, mode }) => {
      const works: (() => Promise<void>)[] = []
      const atEnd = (work: () => Promise<void>) => void works.push(work)
      const running = await startCatalogue(catalogue)
      works.push(() => running.close())
      try {
        const open = openGateway(running.configs, { atEnd, mode, batches: true, scripts: true })
        const profile: Profile = profileOf({ servers, tools })
        open.host.start({})
        await open.host.settled()
        await open.host.refreshStaleLists({ timeoutMs: 60_000 })
        const user = { id: 'ada', uid: 'ada', profile }
        const { client } = await open.connect({ era: isModern ? 'modern' : 'legacy', user, atEnd })
        await checkClient(client, { catalogue, profile, calls: running.calls, mode })
      } finally {
        for (const work of works.reverse()) await work()
      }
    }),
    { numRuns: runs(4), seed: seedOr(18), endOnFailure: true },
  )
}, 300_000)

type Checked = {
  readonly catalogue: readonly CatalogueServer[]
  readonly profile: Profile
  readonly calls: readonly string[]
  readonly mode: 'list' | 'bridge'
}

async function checkClient(client: Client, checked: Checked): Promise<void> {
  const { catalogue, profile, calls } = checked
  const { ask, log } = listenTo(client)
  const seesServer = ({ name }: CatalogueServer) => says(profile.servers, name)
  const seesTool = (server: CatalogueServer, tool: string) =>
    seesServer(server) && says(profile.tools, `${server.name}__${tool}`)
  const everyTool = catalogue.flatMap((server) => server.tools.map((tool) => ({ server, tool })))
  const hiddenServers = catalogue.filter((server) => !seesServer(server))
  const hidden = [
    ...hiddenServers.flatMap(({ name, prompt, resource }) => [name, prompt, resource]),
    ...everyTool.filter(({ server, tool }) => !seesTool(server, tool)).map(({ tool }) => tool),
  ]

  log.push({ sent: '', got: JSON.stringify([client.getInstructions(), client.getServerVersion()]) })
  log.push({ sent: '', got: JSON.stringify(client.getServerCapabilities()) })
  await useAll(ask, checked)
  for (const { sent, got } of log)
    for (const text of hidden)
      if (got.includes(text) && !sent.includes(text))
        expect.fail(`${text} is hidden, but ${sent} was answered with ${got}`)

  const reached = new Set(calls)
  for (const { server, tool } of everyTool) {
    const isReached = reached.has(`${server.name}/${tool}`)
    expect([tool, isReached]).toEqual([tool, seesTool(server, tool) && !server.isBroken])
  }
  const got = log.map((one) => one.got).join('\n')
  for (const server of catalogue.filter(({ isBroken }) => !isBroken)) {
    const { prompt, resource } = server
    for (const words of [`words of ${prompt}`, `text of ${resource}`])
      expect([words, got.includes(words)]).toEqual([words, seesServer(server)])
  }
}

/** Tries every door of the gateway with every name there is. */
async function useAll(ask: ReturnType<typeof listenTo>['ask'], { catalogue }: Checked): Promise<void> {
  const tool = (name: string, input: object) => ask('tools/call', { name, arguments: input })
  for (const method of ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list'])
    await ask(method)
  for (const query of ['handles orders', '+orders', 'server tool'])
    await tool('ToolSearch', { query, max_results: 50 })
  for (const server of catalogue) {
    const { name, tools, prompt, resource } = server
    for (const query of [name, `+${name}`, `mcp__${name}`, `select:${name.slice(0, -1)}`])
      await tool('ToolSearch', { query })
    const full = tools.map((one) => `${name}__${one}`)
    await tool('ToolSearch', { query: `select:${full.join()}` })
    await tool('ToolSearch', { query: `select:${full.map((one) => `${one.slice(0, -1)}q`).join()}` })
    for (const [index, one] of full.entries()) {
      await tool('ToolSearch', { query: tools[index] })
      await tool(one, {})
      await tool('CallTool', { name: one, arguments: {} })
      await tool('CallTool', { name: `${one.slice(0, -2)}zz`, arguments: {} })
    }
    await tool('CallTools', { calls: full.map((one) => ({ name: one, arguments: {} })) })
    await tool('RunScript', { script: `return [typeof tools, await tools['${name}']['${tools[0]}']({})]` })
    for (const uri of [`${name}+book://${resource}`, `book://${resource}`]) {
      await ask('resources/read', { uri })
      await ask('resources/subscribe', { uri })
      await ask('completion/complete', {
        ref: { type: 'ref/resource', uri },
        argument: { name: 'x', value: '' },
      })
    }
    const ref = { type: 'ref/prompt', name: `${name}__${prompt}` }
    await ask('prompts/get', { name: `${name}__${prompt}` })
    await ask('completion/complete', { ref, argument: { name: 'x', value: '' } })
  }
}

test('the check finds a leak: without rights the same client sees everything', async () => {
  const [catalogue = []] = fc.sample(catalogues, { numRuns: 1, seed: 3 })
  const whole = catalogue.map((server) => ({ ...server, isBroken: false }))
  const works: (() => Promise<void>)[] = []
  const running = await startCatalogue(whole)
  try {
    const open = openGateway(running.configs, { atEnd: (work) => void works.push(work), mode: 'bridge' })
    open.host.start({})
    await open.host.settled()
    const { call } = await open.connect({ atEnd: (work) => void works.push(work) })
    const found = textOf(await call('ToolSearch', { query: 'handles orders', max_results: 50 }))
    const names = whole.flatMap(({ isAlwaysLoaded, tools }) => (isAlwaysLoaded ? [] : tools))
    for (const tool of names) expect(found).toContain(tool)
  } finally {
    for (const work of works.reverse()) await work()
    await running.close()
  }
}, 60_000)
