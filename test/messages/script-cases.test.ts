// The offline model in tables: one rich script, every change of it, played with every kind of search tool.
import { expect, it } from 'vitest'
import { createCollector } from '../../src/core/index.ts'
import type { Fields } from '../../src/lib/index.ts'
import type { MessagesRequest } from '../../src/messages/index.ts'
import { assistant, deferred, reference, result, text, tool, use, user } from '../oracle/requests.ts'
import type { Loose } from '../support/talk.ts'
import { effects } from '../support/variants.ts'
import { answered, call, lines, play } from './script-talk.ts'

const script = {
  model: 'any',
  otherwise: 'Pardon {{ user }}, {{result}}?',
  rules: [
    {
      when: '^(get|find) (\\w+) for (.+)$',
      do: [
        { think: 'About {{2}}.' },
        { say: 'Looking, {{3}}.' },
        { call: '/(^|__)send$/', input: { to: '{{3}}', list: ['{{2}}', 5, null] }, search: 'mail of {{2}}' },
        { say: 'Sent: {{result}}' },
        { calls: [{ call: 'read', input: '{"p":"{{2}}"}' }, { search: '{{user}}' }] },
        { fail: { status: 529, times: 1 } },
        { say: 'Got {{result}}' },
      ],
    },
    {
      when: 'odd',
      do: [
        { say: '{{result}}' },
        { call: 'missing', input: '[1]' },
        { call: '/x.*y/', input: {} },
        { call: '/(^|__)end$/', input: {} },
        { cut: true },
        { stop: 'max_tokens' },
        { say: 'never' },
      ],
    },
  ],
}

const tools: Fields[] = [tool('read'), tool('a_end'), tool('b_end'), deferred('mcp__mail__send')]
const searchTools: Loose = {
  plain: tool('ToolSearch'),
  prefixed: tool('mcp__shelf__ToolSearch'),
  bm25: { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' },
  regex: { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' },
}

/** Plays a conversation to its end, and writes down texts, visible tools and refusals. */
async function played(given: object, start: MessagesRequest, found: unknown): Promise<string[]> {
  const said: string[] = []
  const upstream = play(given, {
    onRequest: (seen) => {
      const { action, visible, tokens, refused = '' } = seen
      const fields = Object.keys(seen).length
      said.push(`${action}; sees ${visible.join(' ')}; ${tokens} tokens; ${fields} fields ${refused}`)
    },
  })
  let request = start
  for (let turn = 0; turn < 8; turn++) {
    const sampled = await upstream.sample(request, call())
    if ('refused' in sampled) {
      said.push(sampled.refused.body)
      if (turn > 6 || !sampled.refused.body.includes('overloaded')) return said
      continue
    }
    const collector = createCollector()
    try {
      for await (const event of sampled.events) collector.add(event)
    } catch (error) {
      said.push((error as Error).message)
      return said
    }
    const { content, stop_reason } = collector.message()
    said.push(`${stop_reason}: ${lines(content).join(' | ')}`)
    if (stop_reason !== 'tool_use') return said
    request = answered(request, content as Fields[], (name) => (/search/i.test(name) ? found : `${name} ran`))
  }
  return said
}

const asking = (said: unknown, search: Fields, more: object = {}): MessagesRequest =>
  ({
    model: 'any',
    max_tokens: 50,
    tools: [search, ...tools],
    messages: [user(text(String(said)))],
    ...more,
  }) as never

it('plays a script with every kind of search tool', async () => {
  const all: string[] = []
  const refs = [reference('mcp__mail__send')]
  for (const [kind, search] of Object.entries<Fields>(searchTools)) {
    const found = kind === 'plain' || kind === 'prefixed' ? refs : 'No match.'
    for (const said of ['find zebra for Ann', 'get an ox for me', 'odd', 'else'])
      all.push(`— ${kind}: ${said}`, ...(await played(script, asking(said, search), found)))
  }
  const thinking = { thinking: { type: 'enabled', budget_tokens: 1024 }, max_tokens: 2000 }
  const started = [
    user(text('first')),
    assistant(use('c0', 'read')),
    user(result('c0', 'earlier'), text('<system-reminder>no</system-reminder>find ox for "me"')),
  ]
  const requests: [string, MessagesRequest, object][] = [
    ['without tools', asking('find ox for me', {}, { tools: undefined }), script],
    ['thinking', asking('odd', searchTools.plain, thinking), script],
    ['thinking first', asking('find ox for me', searchTools.plain, thinking), script],
    ['a result before', asking('', searchTools.plain, { messages: started }), script],
    ['quoted', asking('"else \\"x\\""', searchTools.plain), script],
    ['quoted twice', asking('"else" or "x"', searchTools.plain), script],
    ['nothing said', asking('', searchTools.plain, { messages: [] }), script],
    [
      'two search tools',
      asking('get ox for me', searchTools.regex, { tools: [searchTools.regex, searchTools.plain] }),
      script,
    ],
    [
      'an old API',
      asking('odd', searchTools.plain, { tools: [tool('mcp__x__end')] }),
      { ...script, api: 'old' },
    ],
    ['bound', asking('find ox for me', searchTools.plain), { ...script, boundThinking: true }],
    [
      'the group of no rule',
      asking('x', searchTools.plain),
      { rules: [{ when: 'never', do: [{ say: 'x' }] }], otherwise: '{{result}}-{{user}}' },
    ],
  ]
  for (const [title, request, given] of requests)
    all.push(`— ${title}`, ...(await played(given, request, refs)))
  const upstream = play(script)
  for (const said of ['x', '']) {
    const counted = await upstream.countTokens(asking(said, searchTools.plain), call())
    all.push(JSON.stringify(counted))
  }
  all.push(JSON.stringify(await upstream.models(call())))
  await expect(`${all.join('\n')}\n`).toMatchFileSnapshot('./conversions/script-played.txt')
})

it('plays every change of a script', async () => {
  const search = searchTools.plain
  const write = async (changed: object) => [
    ...(await played(changed, asking('find zebra for Ann', search), [reference('mcp__mail__send')])),
    ...(await played(changed, asking('odd', search), 'No match.')),
  ]
  await expect(await effects(script, write)).toMatchFileSnapshot('./conversions/script-changes.txt')
})
