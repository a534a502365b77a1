// Conversations through the gateway, turn by turn: what the model is sent and what the client gets, line by line.
import { describe, expect, it } from 'vitest'
import { createCollector } from '../../src/core/index.ts'
import { type Fields, listOf } from '../../src/lib/index.ts'
import type { MessagesRequest, UpstreamWire } from '../../src/messages/index.ts'
import { createMessagesGateway, parseModeSetting } from '../../src/messages/index.ts'
import { rankers } from '../../src/rankers/index.ts'
import {
  assistant,
  deferred,
  found,
  reference,
  result,
  system,
  text,
  tool,
  use,
  user,
} from '../oracle/requests.ts'
import { hosted } from './support/gateways.ts'
import { modelOf, searching } from './support/played-model.ts'

type Content = readonly Fields[]

/** A gateway that stays for the whole conversation, and a protocol of all that goes through it. */
function gatewayOf(
  wire: UpstreamWire,
  mode: string,
  samplings: readonly Content[],
  maxTools?: number,
  more: { readonly keep?: readonly string[]; readonly contextWindow?: number } = {},
) {
  const left = [...samplings]
  const protocol: string[] = []
  const model = modelOf(() => ({ content: left.shift() ?? [text('I am done.')] }), {
    wire,
    ...(maxTools ? { maxTools } : {}),
  })
  const { lexical: own, bm25, regex } = rankers
  const gateway = createMessagesGateway({
    upstream: model.upstream,
    rankers: { own, bm25, regex },
    notify: (message) => protocol.push(`! ${message}`),
    ...more,
  })
  let before: string[] = []
  const write = (request: MessagesRequest) => {
    const { tools = [], messages, ...fields } = request
    const lines = [...tools, ...messages].map((part) => JSON.stringify(part))
    const at = lines.findIndex((line, index) => line !== before[index])
    const fresh = at < 0 ? [] : lines.slice(at)
    protocol.push(
      `→ ${JSON.stringify(fields)} ${listOf(tools).length} tools, ${messages.length} messages, ${lines.length - fresh.length} lines as before`,
      ...fresh.map((line) => `  ${line}`),
    )
    before = lines
  }
  return {
    protocol,
    async reply(request: Fields, inbound?: { readonly hidesSearches: boolean }): Promise<Fields> {
      const first = model.requests.length
      const { sampled, outcome } = await gateway.reply(request as MessagesRequest, {
        setting: parseModeSetting(mode)!,
        call: {
          headers: { 'anthropic-beta': 'mid-conversation-tool-changes-2026-07-01,inline-tools-2026-09-15' },
          signal: new AbortController().signal,
        },
        owner: 'me',
        ...(inbound ? { inbound: { api: 'chat' as const, ...inbound } } : {}),
      })
      if (!sampled || 'refused' in sampled) {
        protocol.push(`refused ${JSON.stringify(sampled)}`)
        return {}
      }
      const collector = createCollector()
      for await (const event of sampled.events) collector.add(event)
      const message = collector.message()
      for (const sent of model.requests.slice(first)) write(sent)
      const { content, stop_reason, usage } = message
      const { figures: _, ...rest } = outcome
      protocol.push(
        `← ${JSON.stringify({ stop_reason, usage })} ${JSON.stringify(rest)}`,
        ...listOf(content).map((block) => `  ${JSON.stringify(block)}`),
      )
      return message
    },
  }
}

const ask = (tools: readonly unknown[], messages: readonly unknown[], more: Fields = {}): Fields => ({
  model: 'claude-sonnet-5',
  max_tokens: 500,
  tools,
  messages,
  ...more,
})
const thought = { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' }
const call = (id: string, name: string, input: Fields = {}): Fields => ({ type: 'tool_use', id, name, input })
const through = (wire: UpstreamWire, id: string, name: string, input: Fields = {}): Fields =>
  wire === 'bridge' ? call(id, 'CallTool', { name, arguments: input }) : call(id, name, input)
const contentOf = (message: Fields) => ({ role: 'assistant', content: message.content })

/** A client that has never heard of tool search: its tools are shelved. */
async function shelved(wire: UpstreamWire, maxTools?: number): Promise<string[]> {
  const tools = [
    tool('Read'),
    tool('mcp__mail__send'),
    tool('mcp__mail__list'),
    tool('mcp__fax__dial'),
    tool('mcp__fax__hang_up'),
  ]
  const gateway = gatewayOf(
    wire,
    'shelve',
    [
      [text('Looking.'), searching('mail send', 'toolu_s1')],
      [thought, searching('zebra', 'toolu_s2'), searching('mail', 'toolu_s3')],
      [thought, through(wire, 'toolu_c1', 'mcp__mail__send', { mcp__mail__send_key: 'a' })],
      [text('And now'), call('toolu_c2', 'Read'), searching('fax', 'toolu_s4')],
      [through(wire, 'toolu_c3', 'mcp__fax__dial'), through(wire, 'toolu_c4', 'mcp__fax__none')],
      [text('Almost.')],
      [searching('select:mcp__mail__list', 'toolu_s5')],
      [text('Done.')],
      [searching('mail send', 'toolu_s6')],
      [text('Again.')],
    ],
    maxTools,
  )
  const messages: Fields[] = [user(text('go'))]
  const turn = async (...answers: Fields[]) => {
    messages.push(contentOf(await gateway.reply(ask(tools, [...messages]))))
    messages.push(user(...answers))
  }
  await turn(result('toolu_c1', 'sent'))
  await turn(result('toolu_c2', 'read'))
  await turn(result('toolu_c3', 'dialled'), result('toolu_c4', 'no such tool', { is_error: true }))
  await turn(text('more'))
  await turn(text('the end'))
  const other = [...messages.slice(0, 1), assistant(text('Hello.')), user(text('something else'))]
  await gateway.reply(
    ask(tools, other, { tool_choice: { type: 'auto', disable_parallel_tool_use: true }, stream: true }),
  )
  await gateway.reply(ask([...tools, tool('Late')], messages, { system: 'Be brief.' }))
  return gateway.protocol
}

/** A client that defers tools itself, and searches with the API's own search or one of its own. */
async function emulated(wire: UpstreamWire, variant: 'bm25' | 'regex'): Promise<string[]> {
  const search = hosted(variant)
  const name = `tool_search_tool_${variant}`
  const key = variant === 'bm25' ? 'query' : 'pattern'
  const tools = [search, tool('find'), deferred('mail_send'), deferred('mail_list'), deferred('fax_dial')]
  const searchFor = (id: string, words: unknown, more: Fields = {}) =>
    call(id, name, { [key]: words, ...more })
  const gateway = gatewayOf(wire, 'emulate', [
    [text('Looking.'), searchFor('toolu_s1', 'mail')],
    [searchFor('toolu_s2', 'zebra'), searchFor('toolu_s3', 'fax', { limit: 1 })],
    [searchFor('toolu_s4', '('), searchFor('toolu_s5', 5), searchFor('toolu_s6', 'x'.repeat(600))],
    [thought, through(wire, 'toolu_c1', 'mail_send', { a: 1 })],
    [call('toolu_c2', 'find'), searchFor('toolu_s7', 'mail', { limit: 1 })],
    [text('Found.')],
    [text('Done.')],
  ])
  const messages: Fields[] = [user(text('go'))]
  const turn = async (more: Fields, ...answers: Fields[]) => {
    messages.push(contentOf(await gateway.reply(ask(tools, [...messages], more))))
    messages.push(user(...answers))
  }
  await turn({}, result('toolu_c1', 'sent'))
  await turn({ stream: true }, result('toolu_c2', [reference('fax_dial')]))
  await turn({}, text('more'))
  await turn({ tool_choice: { type: 'tool', name: 'fax_dial' } }, text('the end'))
  const removal = { type: 'tool_removal', tool: { type: 'tool_reference', name: 'find' } }
  await gateway.reply(ask(tools, [...messages, system(removal, text('Be brief.'))]))
  await gateway.reply(
    ask(tools.slice(1), [user(text('a')), assistant(use('toolu_9', 'find')), user(result('toolu_9', 'x'))]),
  )
  return gateway.protocol
}

/** A reply that begins with what the last one searched for, and searches under ids of any kind. */
async function begunWithSearches(wire: UpstreamWire): Promise<string[]> {
  const name = 'tool_search_tool_bm25'
  const gateway = gatewayOf(wire, 'emulate', [
    [
      call('x_toolu_1', name, { query: 'fax' }),
      call('srvtoolu_9', name, { query: 'new' }),
      call('toolu_8', name, { query: 'mail', limit: 11 }),
    ],
    [text('Done.')],
  ])
  const hostedCall = (id: string, query: string) => ({ type: 'server_tool_use', id, name, input: { query } })
  const tools = [hosted('bm25'), tool('find'), deferred('mail_send'), deferred('fax_dial')]
  await gateway.reply(
    ask(tools, [
      user(text('go')),
      assistant(
        hostedCall('srvtoolu_1', 'mail'),
        found('srvtoolu_1', 'mail_send'),
        hostedCall('srvtoolu_2', 'fax'),
        use('toolu_2', 'find'),
      ),
      user(result('toolu_2')),
      system({ type: 'tool_addition', tool: { type: 'tool_definition', definition: tool('new_one') } }),
    ]),
  )
  return gateway.protocol
}

/** Clients with tools of many kinds, whose model searches until it may no more. */
async function searchingOnly(wire: UpstreamWire): Promise<string[]> {
  const bash = { type: 'bash_20250124', name: 'bash', cache_control: { type: 'ephemeral', ttl: '1h' } }
  const odd = { ...tool('mcp__fax__dial'), type: null, cache_control: { type: 'ephemeral' } }
  const lists: { readonly [name: string]: readonly Fields[] } = {
    'one that stays': [tool('Read'), tool('mcp__mail__send', { type: 'custom' }), odd],
    'a tool of the API': [bash, tool('mcp__mail__send'), odd],
    'all of servers': [tool('mcp__mail__send'), odd],
    'none of servers': [tool('send_mail'), tool('apply-patch'), tool('find_tools'), tool('Kept')],
    'chosen by the client': [{ ...tool('send_mail'), defer_loading: true }, tool('mcp__a__b'), tool('Kept')],
    'two of one name': [tool('bash'), bash, tool('mcp__mail__send')],
    'two of one name, both of the client': [tool('Read'), tool('Read'), tool('mcp__mail__send')],
    'none at all': [],
  }
  const protocol: string[] = []
  for (const [name, tools] of Object.entries(lists)) {
    for (const mode of ['shelve', 'auto:1']) {
      const searches = Array.from({ length: 12 }, (_, index) => [
        searching(['select:Read,Kept', 'zebra'][index - 1] ?? 'mail', `toolu_s${index}`),
      ])
      const options = { keep: ['Ke*'], contextWindow: 5_000 }
      const gateway = gatewayOf(wire, mode, searches, undefined, options)
      const refused: string[] = []
      await gateway
        .reply(ask(tools, [user(text('go'))]))
        .catch((error: Error) => refused.push(`refused ${error.message}`))
      protocol.push(`${name}, ${mode}`, ...gateway.protocol, ...refused)
    }
  }
  // A client of an API without searches chooses what is deferred, and leaves the searching to the gateway.
  const chosen = [deferred('send_mail'), deferred('Kept'), tool('mcp__a__b'), tool('other')]
  const hiding = gatewayOf(wire, 'auto', [[searching('mail', 'toolu_s0')]], undefined, { keep: ['Ke*'] })
  await hiding.reply(ask(chosen, [user(text('go'))]), { hidesSearches: true })
  protocol.push('chosen by a client that cannot search', ...hiding.protocol)
  // What was sent before is not shown again: each request repeats the one before it.
  return protocol.filter((line, index) => !line.startsWith('  ') || protocol.indexOf(line) === index)
}

const written = (protocol: readonly string[]) => `${protocol.join('\n')}\n`

describe('a conversation', () => {
  it.each(['native', 'append', 'bridge'] as const)(
    'wire 39 whose tools are shelved, on the wire %s',
    async (wire) => {
      await expect(written(await shelved(wire))).toMatchFileSnapshot(`./conversations/shelve-${wire}.txt`)
    },
  )

  it.each(['append', 'bridge'] as const)(
    'wire 28 that begins with what the last reply searched for, on the wire %s',
    async (wire) => {
      await expect(written(await begunWithSearches(wire))).toMatchFileSnapshot(
        `./conversations/begun-${wire}.txt`,
      )
    },
  )

  it('wire 39 whose model does nothing but search, with tools of every kind', async () => {
    await expect(written(await searchingOnly('native'))).toMatchFileSnapshot(
      './conversations/searching-only.txt',
    )
  })

  it('wire 39 whose tools are shelved, where the upstream takes four', async () => {
    await expect(written(await shelved('append', 4))).toMatchFileSnapshot(
      './conversations/shelve-append-4.txt',
    )
  })

  it.each([
    ['append', 'bm25'],
    ['append', 'regex'],
    ['bridge', 'bm25'],
    ['bridge', 'regex'],
  ] as const)('wire 40 of a client that defers, on the wire %s with %s', async (wire, variant) => {
    await expect(written(await emulated(wire, variant))).toMatchFileSnapshot(
      `./conversations/emulate-${wire}-${variant}.txt`,
    )
  })
})
