// What chat and run read before they start: the model, the prompt, rules and options.
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { checkPrompt, loadView, onInterrupt, openClient, readPrompt } from '../../src/cli/client.ts'
import { idlePermissionRules, refuseUnasked, rulesFromFlags } from '../../src/cli/session.ts'
import { mcp, quietShelf } from '../support/talk.ts'
import { inputOf, outcomeOf } from './support/input.ts'

type Options = Parameters<typeof inputOf>[0]

test('a model is named by options, then by the environment', async () => {
  const open = (options: Options, environment = {}) =>
    outcomeOf(async () => {
      const { client, model, about, isScript, close } = await openClient(inputOf(options), environment)
      const { apiKey, authToken, baseURL } = client
      await close()
      return [apiKey, authToken, isScript ? '' : baseURL, model, about, isScript].join(' | ')
    })
  expect([
    await open({}),
    await open({}, { ANTHROPIC_API_KEY: ' k ' }),
    await open({ model: 'm' }, { ANTHROPIC_AUTH_TOKEN: 't', ANTHROPIC_MODEL: 'n' }),
    await open({}, { ANTHROPIC_BASE_URL: 'http://127.0.0.1:1', ANTHROPIC_MODEL: 'n' }),
    await open({ 'base-url': 'http://127.0.0.1:2' }, { ANTHROPIC_API_KEY: 'k', ANTHROPIC_AUTH_TOKEN: 't' }),
    await open({}, { ANTHROPIC_API_KEY: 'a\nb' }),
    await open({}, { ANTHROPIC_API_KEY: '' }),
    await open({ script: 'demo', 'base-url': 'http://127.0.0.1:2' }),
    await open({ script: '/none' }),
    await open({ script: 'demo' }),
  ]).toMatchInlineSnapshot(`
    [
      "CommandError: no model is configured. Set ANTHROPIC_API_KEY, pass the URL of a compatible API with --base-url (for a local model: "toolshelf serve --upstream openai:URL"), or try it without a model: --script demo.",
      "k |  | https://api.anthropic.com | claude-sonnet-5-5 | claude-sonnet-5-5 | false",
      " | t | https://api.anthropic.com | m | m | false",
      "none |  | http://127.0.0.1:1 | n | n at http://127.0.0.1:1 | false",
      " | t | http://127.0.0.1:2 | claude-sonnet-5-5 | claude-sonnet-5-5 at http://127.0.0.1:2 | false",
      "CommandError: ANTHROPIC_API_KEY contains a line break or another character that a key cannot have; set it again.",
      "CommandError: no model is configured. Set ANTHROPIC_API_KEY, pass the URL of a compatible API with --base-url (for a local model: "toolshelf serve --upstream openai:URL"), or try it without a model: --script demo.",
      "UsageError: --script and --base-url cannot be combined; use one of them.",
      "CommandError: cannot read the script /none (ENOENT); check its path.",
      "none |  |  | toolshelf-script | the script demo, no model | true",
    ]
  `)
})

test('the prompt is the words, then what was piped', async () => {
  const read = (words: readonly string[], piped?: string) => {
    const input = {
      stream: Readable.from(piped === undefined ? [] : [Buffer.from(piped)]),
      isPiped: piped !== undefined,
    }
    const terminal = { print: () => {}, report: () => {}, isInteractive: false, input }
    return outcomeOf(() => {
      checkPrompt(inputOf({}, words), terminal)
      return readPrompt(inputOf({}, words), terminal, () => {})
    })
  }
  expect([
    await read(['a', 'b']),
    await read(['a'], ' piped \n'),
    await read([], 'piped'),
    await read(['-', 'a'], 'piped'),
    await read(['-']),
    await read([]),
    await read([' '], ' '),
  ]).toEqual([
    ...['a b', 'a\n\npiped', 'piped', 'a\n\npiped', 'UsageError: the prompt is empty.'],
    ...[
      'UsageError: no prompt; pass it as an argument, or through a pipe.',
      'UsageError: the prompt is empty.',
    ],
  ])
})

test('parses rules of options, and reports those that match nothing', async () => {
  expect(
    rulesFromFlags(inputOf({ allow: ['Bash(git status*)', 'mcp__a__*'], deny: 'Read' })),
  ).toMatchInlineSnapshot(`
    [
      {
        "effect": "allow",
        "rule": "Bash(git status*)",
        "scope": "session",
      },
      {
        "effect": "allow",
        "rule": "mcp__a__*",
        "scope": "session",
      },
      {
        "effect": "deny",
        "rule": "Read",
        "scope": "session",
      },
    ]
  `)
  expect(await outcomeOf(() => rulesFromFlags(inputOf({ deny: '(' })))).toContain('UsageError: --deny: ')
  expect(await outcomeOf(() => rulesFromFlags(inputOf({ allow: 'Bsh' })))).toContain(
    'UsageError: --allow: the rule "Bsh" names no server; put its name in front, as in "server__Bsh", or write "*__Bsh" for every server; the nearest tool of the agent\'s own is Bash.',
  )
  const shelf = quietShelf({ tools: [mcp('github', 'create_issue'), { name: 'Bash' }], toolSearch: true })
  const status = (name: string, state: string, tools: readonly unknown[] = []) => ({ name, state, tools })
  const host = {
    status: () => [status('github', 'connected'), status('slow', 'pending'), status('kept', 'idle', [1])],
  }
  const rules = [
    'Bash(ls)',
    'mcp__github__create_issue',
    'mcp__github__create_isue',
    'mcp__githib__*',
    'mcp__slow__x',
    'mcp__kept__x',
    '*',
  ].map((rule) => ({ effect: 'allow', rule, scope: 'session' }) as const)
  expect(idlePermissionRules(rules, { shelf, host: host as never })).toMatchInlineSnapshot(`
    [
      "--allow "mcp__github__create_isue" matches none of the tools; did you mean mcp__github__create_issue?",
      "--allow "mcp__githib__*" matches none of the tools; did you mean mcp__github__*?",
      "--allow "mcp__kept__x" matches none of the tools.",
    ]
  `)
  const told: string[] = []
  const refuse = refuseUnasked((message) => void told.push(message))
  const ask = (name: string, suggested: readonly string[]) => refuse({ call: { name }, suggested } as never)
  expect([
    ask('Bash', ["Bash(echo 'x')", 'Read']),
    ask('Bash', []),
    ask('Edit', []),
    told,
  ]).toMatchInlineSnapshot(`
    [
      "Bash was not run: this session has no rule that allows it, and nobody to ask. The user has been told which rule would.",
      "Bash was not run: this session has no rule that allows it, and nobody to ask. The user has been told which rule would.",
      "Edit was not run: this session has no rule that allows it, and nobody to ask. The user has been told which rule would.",
      [
        "Bash was not run, because no rule allows it: --allow 'Bash(echo '\\''x'\\'')' --allow 'Read'",
        "Edit was not run, because no rule allows it: --allow 'Edit'",
      ],
    ]
  `)
})

test('a view is loaded as in production, whatever the environment says', async () => {
  const before = { ...process.env }
  const variables = () => [process.env.CI, process.env.NODE_ENV]
  const load = async (CI: string | undefined, NODE_ENV: string | undefined) => {
    for (const [name, value] of Object.entries({ CI, NODE_ENV })) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
    return [await loadView(async () => variables()), variables()]
  }
  try {
    expect([await load('1', 'test'), await load(undefined, undefined)]).toEqual([
      [
        [undefined, 'production'],
        ['1', 'test'],
      ],
      [
        [undefined, 'production'],
        [undefined, undefined],
      ],
    ])
  } finally {
    for (const name of ['CI', 'NODE_ENV']) {
      if (before[name] === undefined) delete process.env[name]
      else process.env[name] = before[name]
    }
  }
})

test('the first signal stops, and nothing listens afterwards', () => {
  const counts = () => ['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => process.listenerCount(signal))
  const before = counts()
  const stop = new AbortController()
  const forget = onInterrupt(stop)
  expect([process.listenerCount('SIGINT'), process.listenerCount('SIGTERM')]).toEqual([
    before[0]! + 1,
    before[1]! + 1,
  ])
  process.emit('SIGTERM', 'SIGTERM')
  expect(stop.signal.aborted).toBe(true)
  forget()
  expect(counts()).toEqual(before)
})
