// Counts the tokens of definitions that a client sees: all servers directly, and the gateway in front of them, before and after a
// search that finds three tools.
import type { Client } from '@modelcontextprotocol/client'
import { CHARACTERS_PER_TOKEN, estimateTokens } from '../packages/core/src/tokens.ts'
import { callText, gatewayCommand, type Servers } from './mcp-gateway.ts'
import { start } from './mcp-processes.ts'
import type { Alone, ListedTools } from './mcp-start.ts'
import { table } from './report.ts'

const SEARCH = { query: '+github issue', max_results: 3 }

type Seen = { readonly first: number; readonly later: number }

export async function measureTokens(
  home: string,
  servers: Servers,
  alone: readonly Alone[],
): Promise<string[]> {
  const total = alone.reduce((sum, { tools }) => sum + tools.length, 0)
  const rows: (string | number)[][] = []
  for (const count of [50, 150, 500, total]) {
    const taken = take(alone, count)
    const chosen: Servers = new Map(
      taken.map(({ name, tools }) => [
        name,
        { ...servers.get(name)!, allow: tools.map((tool) => tool.name) },
      ]),
    )
    const before = taken.reduce((sum, { tools }) => sum + tokensOf(tools), 0)
    const list = await seenBy(home, chosen, 'list')
    const bridge = await seenBy(home, chosen, 'bridge')
    rows.push([
      count,
      taken.length,
      ...[before, list.first, list.later, bridge.first, bridge.later].map((value) =>
        value.toLocaleString('en'),
      ),
      saving(list.later, before),
      saving(bridge.later, before),
    ])
  }
  const header = [
    'tools',
    'servers',
    'directly',
    'list mode',
    'after a search',
    'bridge mode',
    'after a search',
    'saved, list',
    'saved, bridge',
  ]
  return [
    `Tokens of \`tools/list\`, by the core's estimate (characters / ${CHARACTERS_PER_TOKEN}); after a search: with three definitions found by \`${SEARCH.query}\`, and the answer.`,
    '',
    ...table(header, rows),
  ]
}

/** Returns the first tools of the servers, up to this number. */
function take(alone: readonly Alone[], count: number): Pick<Alone, 'name' | 'tools'>[] {
  let left = count
  return alone.flatMap(({ name, tools }) => {
    const taken = tools.slice(0, left)
    left -= taken.length
    return taken.length > 0 ? [{ name, tools: taken }] : []
  })
}

async function seenBy(home: string, servers: Servers, mode: 'list' | 'bridge'): Promise<Seen> {
  const gateway = await start(gatewayCommand(home, servers, '--lazy', '--mode', mode))
  const list = async (client: Client) => tokensOf((await client.listTools()).tools as unknown as ListedTools)
  const first = await list(gateway.client)
  const answer = await callText(gateway.client, 'ToolSearch', SEARCH)
  const later = (await list(gateway.client)) + estimateTokens(answer)
  await gateway.end()
  return { first, later }
}

function tokensOf(tools: ListedTools): number {
  return estimateTokens(JSON.stringify(tools))
}

function saving(after: number, before: number): string {
  return `${((1 - after / before) * 100).toFixed(1)} %`
}
