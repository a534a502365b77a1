// Two users of one gateway at the same moment: what one of them causes does not stop the other.
import { describe, expect, test } from 'vitest'
import { until } from '../mcp/support/processes.ts'
import { initialized, serveHere, text } from '../mcp/support/server-here.ts'
import { tool } from '../mcp/support/small-servers.ts'
import { runHere } from '../support/cli-here.ts'
import { newPlace } from '../terminal/support.ts'
import { call, openSession, said } from './requests.ts'
import { startGateway, usersByHand } from './served-gateway.ts'

describe('H10 users take turns', () => {
  async function open(tools: readonly object[], answer: (name: string) => unknown = () => text('done')) {
    const place = newPlace()
    const { file, keys } = usersByHand({ ada: {}, bob: {} })
    place.file('users.json', file)
    const url = serveHere(() => ({
      initialize: (params) => initialized(params),
      'tools/list': () => ({ tools }),
      'tools/call': ({ name }) => answer(name),
    }))
    place.file('toolshelf.json', { mcpServers: { shop: { url } } })
    await runHere(place, ['permissions', 'allow', 'readonly:shop'])
    const words = ['mcp', '--http', '--scripts', '--mode', 'bridge', '--config', 'toolshelf.json']
    const gateway = await startGateway(place, [...words, '--users', 'users.json'])
    const [ada, bob] = [
      await openSession(gateway.url, keys.ada ?? ''),
      await openSession(gateway.url, keys.bob ?? ''),
    ]
    return { ...gateway, ada, bob }
  }
  const reading = (name: string) => tool(name, { annotations: { readOnlyHint: true } })

  test('H10 scripts of one user that wait do not stop a script of another', async () => {
    const waiting: (() => void)[] = []
    const { ada, bob } = await open([reading('wait'), reading('look')], (name) =>
      name === 'look' ? text('seen') : new Promise((resolve) => waiting.push(() => resolve(text('late')))),
    )
    const script = (name: string) => ({ script: `return await tools.shop.${name}({})` })
    const scripts = [1, 2, 3, 4, 5, 6].map((id) => ada(call(id, 'RunScript', script('wait'))))
    await until(
      () => waiting.length === 4,
      () => `${waiting.length} scripts are waiting`,
    )
    expect(said((await bob(call(1, 'RunScript', script('look')))).get(1))).toBe('seen')
    expect(waiting).toHaveLength(4)
    for (let done = 0; done < scripts.length; done++) {
      await until(() => waiting.length > 0, 'the next script waits')
      waiting.shift()?.()
    }
    expect((await Promise.all(scripts)).flatMap((answers) => [...answers.values()].map(said))).toEqual(
      Array(6).fill('late'),
    )
  })

  test('H10 a body of 100 searches over 3,000 tools: those of another user come in between', async () => {
    const tools = Array.from({ length: 3000 }, (_, index) =>
      tool(`t${index}_order`, { description: 'Handles orders. '.repeat(20) }),
    )
    const { ada, bob, url } = await open(tools)
    await bob(call(1, 'ToolSearch', { query: 'order' }))
    const order: string[] = []
    const queries = [
      'select:shop__ordre_t1,shop__odrer_t2,x',
      '+order handles',
      '+handles +t12',
      'handle an order',
    ]
    const all = Array.from({ length: 100 }, (_, id) => call(id, 'ToolSearch', { query: queries[id % 4] }))
    const searches = ada(all).then((answers) => {
      order.push('a hundred searches')
      return answers
    })
    await bob(call(2, 'ToolSearch', { query: 'order' }))
    order.push('another search')
    await fetch(new URL('/health', url))
    order.push('health')
    const answers = await searches
    expect(order).toEqual(['another search', 'health', 'a hundred searches'])
    expect(answers.size).toBe(100)
    expect(said(answers.get(0))).toContain('There is no tool named "shop__ordre_t1". Nearest: ')
  })
})
