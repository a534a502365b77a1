// Parts of `toolshelf serve -- <agent>` that need no agent: which model it would use, its environment, and what was saved.
import { expect, test } from 'vitest'
import { savedInAll } from '../../src/cli/gateway/index.ts'
import { agentEnvironment, upstreamFor } from '../../src/cli/serve-agent.ts'
import type { RequestRecord } from '../../src/messages/index.ts'

type Saved = { readonly [figure: string]: number | boolean }

/** A finished request; without figures nothing was deferred, without a reason it was not about messages. */
const record = (why: string | undefined, figures?: Saved, error?: string) =>
  ({
    ...{ method: 'POST', path: '/v1/messages', status: 200, milliseconds: 1, model: 'm', error },
    outcome: why === undefined ? undefined : { why, figures: () => figures },
  }) as unknown as RequestRecord

const refused = (why: string, error?: string) => ({ ...record(why, undefined, error), status: 401 })

const figures = (tokensWith: number, tokensWithout: number, more: Saved = {}): Saved => ({
  ...{ requests: 1, rounds: 1, extraRoundTrips: 0, searchOutputTokens: 0, isEstimated: false },
  ...{ tokensWith, tokensWithout, tokensSaved: tokensWithout - tokensWith },
  ...more,
})
const priced = { dollarsWith: 0.5, dollarsWithout: 2, dollarsSaved: 1.5 }

test('sums up what was saved, and what failed', () => {
  const cases: RequestRecord[][] = [
    [],
    [record(undefined)],
    [record(undefined, undefined, 'first'), record(undefined, undefined, 'no such\nendpoint')],
    [record('there are no tools'), record('too few tools')],
    [record('too few tools', undefined, 'overloaded')],
    [record('asked for', undefined, 'overloaded'), record('too few tools')],
    [record('asked for', figures(250, 1000))],
    [record('asked for', figures(1250, 1000))],
    [record('asked for', figures(1000, 1000)), record(undefined), record('no tools')],
    [record('asked for', figures(5, 0))],
    [record('asked for', figures(250, 1000)), { ...record('asked for'), path: '/v1/messages/count_tokens' }],
    [
      record('a', figures(2500, 10_000, { ...priced, extraRoundTrips: 1 })),
      record('b', figures(2500, 10_000, { ...priced, extraRoundTrips: 1 }), 'late'),
    ],
    [record('a', figures(1, 2, { extraRoundTrips: 1 }))],
    // Refused by the upstream: passed on unchanged without tools, and with an error of ours with them.
    [refused('there are no tools'), refused('there are no tools')],
    [refused('asked for', 'invalid x-api-key'), refused('there are no tools')],
  ]
  expect(cases.map((finished) => savedInAll(finished, 'http://here').join('\n'))).toMatchInlineSnapshot(`
    [
      "no request for the model came to http://here. Does the agent read ANTHROPIC_BASE_URL or OPENAI_BASE_URL?",
      "no request for the model came to http://here. Does the agent read ANTHROPIC_BASE_URL or OPENAI_BASE_URL?",
      "no request for the model came to http://here.
    2 requests failed, the last one: no such endpoint",
      "2 requests, nothing was put on the shelf (too few tools)",
      "1 request failed, the last one: overloaded",
      "2 requests, nothing was put on the shelf (too few tools)
    1 request failed, the last one: overloaded",
      "1 request: 250 input tokens instead of 1,000, 750 saved (75.0 %)",
      "1 request: 1,250 input tokens instead of 1,000, 250 more (25.0 %)",
      "2 requests; the one with tools on the shelf took 1,000 input tokens instead of 1,000, 0 saved (0.0 %)",
      "1 request: 5 input tokens instead of 0, 5 more",
      "1 request: 250 input tokens instead of 1,000, 750 saved (75.0 %)",
      "2 requests: 5,000 input tokens instead of 20,000, 15,000 saved (75.0 %), $3.00 at list prices, 2 extra round trips
    1 request failed, the last one: late",
      "1 request: 1 input tokens instead of 2, 1 saved (50.0 %), 1 extra round trip",
      "2 requests failed, the last one: 401 Unauthorized",
      "2 requests failed, the last one: 401 Unauthorized",
    ]
  `)
})

test('asks the model that the agent would use', () => {
  const variables = [
    ...['ANTHROPIC_BASE_URL', 'ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'],
    ...['OPENAI_BASE_URL', 'OPENAI_API_BASE', 'OPENAI_API_KEY'],
  ]
  const chosen = ['agent', '/bin/claude-x', '/bin/codex-x', '/codex/agent'].map((command) => [
    command,
    ...[[], ...variables.map((name) => [name]), variables.slice(1), variables.slice(3)].map((names) =>
      upstreamFor(command, Object.fromEntries(names.map((name) => [name, `<${name}>`]))),
    ),
  ])
  expect(chosen.map((row) => row.join(' '))).toMatchInlineSnapshot(`
    [
      "agent anthropic <ANTHROPIC_BASE_URL> anthropic anthropic openai:<OPENAI_BASE_URL> openai:<OPENAI_API_BASE> openai anthropic openai:<OPENAI_BASE_URL>",
      "/bin/claude-x anthropic <ANTHROPIC_BASE_URL> anthropic anthropic anthropic anthropic anthropic anthropic anthropic",
      "/bin/codex-x responses <ANTHROPIC_BASE_URL> anthropic anthropic openai:<OPENAI_BASE_URL> openai:<OPENAI_API_BASE> responses anthropic openai:<OPENAI_BASE_URL>",
      "/codex/agent anthropic <ANTHROPIC_BASE_URL> anthropic anthropic openai:<OPENAI_BASE_URL> openai:<OPENAI_API_BASE> openai anthropic openai:<OPENAI_BASE_URL>",
    ]
  `)
})

test('points the agent at the gateway, past any proxy', () => {
  const environments = [
    { HOME: '/home', OPENAI_BASE_URL: 'old' },
    { HTTP_PROXY: 'p' },
    { https_proxy: 'p', NO_PROXY: 'a.test', no_proxy: 'b.test' },
    { ALL_PROXY: 'p', no_proxy: 'b.test' },
    { MY_HTTP_PROXY: 'p', HTTP_PROXY_2: 'p' },
  ]
  expect(
    environments.map((one) =>
      JSON.stringify(agentEnvironment('agent', { url: 'http://127.0.0.1:5', secret: 's' }, one)),
    ),
  ).toMatchInlineSnapshot(`
    [
      "{"HOME":"/home","OPENAI_BASE_URL":"http://127.0.0.1:5/s/v1","ANTHROPIC_BASE_URL":"http://127.0.0.1:5/s","OPENAI_API_BASE":"http://127.0.0.1:5/s/v1"}",
      "{"HTTP_PROXY":"p","ANTHROPIC_BASE_URL":"http://127.0.0.1:5/s","OPENAI_BASE_URL":"http://127.0.0.1:5/s/v1","OPENAI_API_BASE":"http://127.0.0.1:5/s/v1","NO_PROXY":"127.0.0.1","no_proxy":"127.0.0.1"}",
      "{"https_proxy":"p","NO_PROXY":"a.test,127.0.0.1","no_proxy":"a.test,127.0.0.1","ANTHROPIC_BASE_URL":"http://127.0.0.1:5/s","OPENAI_BASE_URL":"http://127.0.0.1:5/s/v1","OPENAI_API_BASE":"http://127.0.0.1:5/s/v1"}",
      "{"ALL_PROXY":"p","no_proxy":"b.test,127.0.0.1","ANTHROPIC_BASE_URL":"http://127.0.0.1:5/s","OPENAI_BASE_URL":"http://127.0.0.1:5/s/v1","OPENAI_API_BASE":"http://127.0.0.1:5/s/v1","NO_PROXY":"b.test,127.0.0.1"}",
      "{"MY_HTTP_PROXY":"p","HTTP_PROXY_2":"p","ANTHROPIC_BASE_URL":"http://127.0.0.1:5/s","OPENAI_BASE_URL":"http://127.0.0.1:5/s/v1","OPENAI_API_BASE":"http://127.0.0.1:5/s/v1"}",
    ]
  `)
})
