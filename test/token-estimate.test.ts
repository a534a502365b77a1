// Every place that shows what tools cost shows the same tokens for the same tools.
import { expect, test } from 'vitest'
import { measureTools, shelfOf } from '../packages/cli/src/doctor/report.ts'
import { inspectedServers } from '../packages/cli/src/gateway/inspected-servers.ts'
import { describePool, type Trace } from '../packages/core/src/events.ts'
import { estimateTokens } from '../packages/core/src/index.ts'
import { createPureShelf } from '../packages/core/src/shelf.ts'
import { serverViews, toolPieces } from '../packages/inspector/src/server/views.ts'
import type { ServerStatus } from '../packages/mcp/src/types.ts'

// Quotes and line ends, which JSON escapes; lengths that a rounded sum and a sum of rounded numbers tell apart.
const listed = Array.from({ length: 10 }, (_, index) => ({
  name: `tool_${index}`,
  description: `Says "${'x'.repeat(index)}"\nand ends.`,
  inputSchema: { type: 'object' as const, properties: { text: { type: 'string' } } },
}))

const statuses = ['a', 'b'].map(
  (name) =>
    ({
      ...{ name, state: 'connected', reason: undefined, tools: listed, problems: [], stderr: '' },
      config: {
        name,
        transport: { kind: 'stdio', command: 'x', args: [], env: {} },
        source: 'here',
        tools: {},
      },
    }) as unknown as ServerStatus,
)

/** The estimate, written out. */
const expected = (server: string) =>
  listed.reduce(
    (sum, { name, description, inputSchema }) =>
      sum +
      estimateTokens(
        JSON.stringify({ name: `mcp__${server}__${name}`, description, input_schema: inputSchema }),
      ),
    0,
  )

test('doctor, list, the inspector and events estimate the same tokens for the same tools', async () => {
  const total = expected('a') + expected('b')
  const shelf = shelfOf(statuses)
  const sum = (tools: readonly { readonly tokens: number }[]) =>
    tools.reduce((all, { tokens }) => all + tokens, 0)

  const host = { status: () => statuses } as never
  const shown = inspectedServers({ host, shelf, onChange: 'report' })
  const events: Trace[] = []
  const traced = createPureShelf({
    ...{ tools: shelf.tools().map(({ tool }) => tool), toolSearch: false },
    trace: (event) => events.push(event),
  })
  await traced.prepare({ model: 'claude-sonnet-5-5', messages: [{ role: 'user', content: 'Hi.' }] })
  let json = ''
  for await (const piece of toolPieces(shown)) json += piece
  const decision = events.find((event) => event.type === 'decision')
  const pool = describePool(shelf.partition()).events

  expect({
    doctor: sum(measureTools(statuses, 200_000).tools),
    'inspector, tools': sum(JSON.parse(json)),
    'inspector, servers': sum(await serverViews(shown)),
    'events, pool': pool.find((event) => event.type === 'pool')?.tokens,
    'events, tools': pool
      .flatMap((event) => (event.type === 'tools' ? event.tokens : []))
      .reduce((a, b) => a + b),
    'events, in sight': decision?.tools.tokensWith,
    'events, without': decision?.tools.tokensWithout,
  }).toEqual({
    ...{ doctor: total, 'inspector, tools': total, 'inspector, servers': total },
    ...{ 'events, pool': total, 'events, tools': total, 'events, in sight': total, 'events, without': total },
  })
})
