// The doctor's report on one machine, in each of its views, as a person gets it.
import { describe, expect, it } from 'vitest'
import { makeReport, type ReportOptions, terminalView } from '../../src/cli/doctor/index.ts'
import type { ListedTool, ServerConfig, ServerStatus } from '../../src/mcp/index.ts'

type Given = Partial<Omit<ServerStatus, 'config'>> & { readonly config?: Partial<ServerConfig> }

function status(name: string, { config, ...given }: Given = {}): ServerStatus {
  const transport = {
    kind: 'stdio',
    command: 'npx',
    args: ['-y', `${name}-mcp`],
    env: {},
    cwd: undefined,
  } as const
  return {
    ...{
      name,
      state: 'connected',
      reason: undefined,
      tools: [],
      hidden: [],
      held: [],
      isCached: false,
      problems: [],
    },
    ...{
      isRemembered: false,
      prompts: undefined,
      resources: undefined,
      resourceTemplates: undefined,
      hasListed: true,
    },
    ...{
      pageTools: [],
      info: { name: `${name}-mcp`, version: '1.2' },
      protocol: '2025-11-25',
      capabilities: {},
    },
    ...{ instructions: undefined, startMilliseconds: 250, pid: 1, stderr: '' },
    config: {
      ...{
        name,
        transport,
        disabled: false,
        lazy: false,
        alwaysLoad: undefined,
        description: undefined,
        tools: {},
      },
      ...{
        allow: [],
        deny: [],
        connectTimeoutMs: 1_000,
        callTimeoutMs: 1_000,
        source: '/home/a/mcp.json',
        ...config,
      },
    },
    ...given,
  } as ServerStatus
}

const tool = (name: string, size: number, more: Partial<ListedTool> = {}): ListedTool => ({
  name,
  description: `${name} `.padEnd(size, `${name[0]}y `),
  inputSchema: { type: 'object' },
  ...more,
})
const tools = (count: number, size: number, prefix = 't') =>
  Array.from({ length: count }, (_, index) => tool(`${prefix}${index}`, size + 7 * index))

/** Many servers in every state, with every kind of finding. */
const many: readonly ServerStatus[] = [
  status('big', {
    tools: tools(40, 900),
    instructions: 'Be careful.',
    startMilliseconds: 9_000,
    prompts: [],
    resources: [],
  }),
  status('small', { tools: [tool('read_file', 60)], startMilliseconds: undefined, info: undefined }),
  status('alone', { tools: [tool('only', 60)], config: { alwaysLoad: true } }),
  status('pinned', {
    tools: tools(3, 200, 'p'),
    config: { alwaysLoad: true, allow: ['p*', 'q_none'], deny: ['zz'] },
  }),
  status('read', { tools: [tool('file', 80), tool('same', 50), tool('same ', 50)] }),
  status('failed', {
    state: 'failed',
    reason: 'the process ended: no such file',
    stderr: Array.from({ length: 30 }, (_, index) => `line ${index}`).join('\n'),
  }),
  status('login', {
    state: 'failed',
    reason: 'unauthorized',
    config: { transport: { kind: 'http', url: 'https://example.com/mcp', headers: {} } },
  }),
  status('off', { state: 'disabled', tools: tools(5, 100) }),
  status('lazy', { state: 'idle', config: { lazy: true } }),
  status('slow', { state: 'pending', isCached: true, tools: tools(2, 100) }),
  status('bad', {
    tools: [...tools(8, 120, 'b').map((one) => ({ ...one, description: 'x'.repeat(60) }))],
    problems: [
      ...(['dropped', 'unsupported', 'repaired', 'large', 'limited', 'hidden'] as const).map((kind) => ({
        tool: 'b1',
        kind,
        message: `it is ${kind}`,
      })),
      { tool: 'b2', kind: 'repaired', message: 'it is repaired' },
      { tool: '', kind: 'limited', message: 'there are more pages' },
    ],
    hidden: ['gone'],
  }),
]

const cases: readonly (readonly [string, readonly ServerStatus[], ReportOptions])[] = [
  ['nothing', [], {}],
  ['little', [status('one', { tools: [tool('read', 100)] })], {}],
  ['much', many, {}],
  ['much-in-a-small-window', many, { window: 8_000 }],
]

describe('the report', () => {
  it.each(cases)('of %s', async (name, statuses, options) => {
    const report = makeReport(statuses, options)
    const view = (isPlain: boolean, width: number) =>
      terminalView(report, { width, isPlain, next: 'toolshelf mcp' })
    await expect(`${JSON.stringify(report, null, 1)}\n`).toMatchFileSnapshot(`./reports/${name}-data.txt`)
    await expect(
      `${view(true, 80)}\n\n${view(true, 50)}\n\n${JSON.stringify(view(false, 80))}\n`,
    ).toMatchFileSnapshot(`./reports/${name}-terminal.txt`)
  })
})
