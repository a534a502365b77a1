// Halves of surrogate pairs, wherever a server or a model puts them: everything that leaves as JSON is well-formed, which
// clients in other languages need to read any of it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { wellFormedJson } from '../packages/core/src/lib/json.ts'
import { openAuditFile } from '../packages/core/src/node/audit-file.ts'
import { createChatUpstream } from '../packages/messages/src/upstream/chat.ts'
import { createMessagesUpstream } from '../packages/messages/src/upstream/messages.ts'
import { makeFolder } from './mcp/support/folder.ts'
import { connectWith, type Desk, eras, openGateway, streamTransport } from './mcp/support/gateway.ts'
import { openHttp } from './mcp/support/gateway-http.ts'
import { listed, neighbour } from './mcp/support/small-servers.ts'
import { completion, serveChat } from './messages/support/chat-server.ts'
import { ask, record, start } from './messages/support/gateways.ts'

const HALF = 'half \ud83d of 😀'

/** What was written for a reader in another language, as values; fails at half of a pair in a key or a text. */
function strict(json: string): unknown {
  return JSON.parse(json, (key, value) => {
    for (const text of [key, value])
      if (typeof text === 'string') expect([text, text.isWellFormed()]).toEqual([text, true])
    return value
  })
}

const hostile = () => {
  const schema = {
    type: 'object',
    properties: { [HALF]: { type: 'string', description: HALF, enum: [HALF] } },
  }
  const { config, write } = listed('bad')
  const tool = { name: 'lone', description: HALF, inputSchema: schema, _meta: { [HALF]: HALF } }
  write([tool, { ...tool, name: HALF }], HALF, {
    resources: [{ uri: `file:///${HALF}`, name: HALF, _meta: { [HALF]: HALF } }],
    prompts: [{ name: HALF, description: HALF, arguments: [{ name: HALF }] }],
  })
  return config
}

/** Asks for everything that shows what the server sent; the results of the two calls. */
async function useAll({ client, raw, search, run }: Desk): Promise<string> {
  await raw('tools/list')
  await raw('resources/list')
  await raw('resources/templates/list')
  await raw('prompts/list')
  await search('select:mcp__bad__lone')
  await raw('tools/list')
  for (const { uri } of (await client.listResources()).resources) await raw('resources/read', { uri })
  for (const { name } of (await client.listPrompts()).prompts) await raw('prompts/get', { name })
  const result = {
    content: [{ type: 'text', text: HALF }],
    structuredContent: { [HALF]: HALF },
    _meta: { [HALF]: HALF },
  }
  return JSON.stringify([
    await run('bad__lone', { result }),
    await run('healthy__echo', { text: 'well' }).catch(String),
  ])
}

describe('H11 a server that sends halves of pairs everywhere', () => {
  it.each(eras)('costs no client on stdio anything (%s)', async (era) => {
    const open = openGateway([hostile(), neighbour()])
    const [input, output] = [new PassThrough(), new PassThrough()]
    let written = ''
    output.on('data', (chunk: Buffer) => {
      written += chunk.toString()
    })
    const { serveMcpGatewayOnStdio } = await import('../packages/mcp/src/gateway/stdio.ts')
    const over = serveMcpGatewayOnStdio(open.gateway, { input, output })
    const desk = await connectWith(streamTransport(output, input), { era })
    await desk.names()
    await open.host.settled()
    expect(await useAll(desk)).toContain('half \ufffd of 😀')
    await desk.client.close()
    await over
    expect(written).toContain('bad__lone')
    for (const line of written.trim().split('\n')) strict(line)
  })

  it.each(eras)('nor any over HTTP (%s)', async (era) => {
    const open = await openHttp([hostile(), neighbour()])
    const read: Promise<string>[] = []
    const transport = new StreamableHTTPClientTransport(new URL(open.url), {
      async fetch(url, init) {
        const response = await fetch(url, init)
        if (init?.method === 'POST') read.push(response.clone().text())
        return response
      },
    })
    const desk = await connectWith(transport, { era })
    expect(await useAll(desk)).toContain('half \ufffd of 😀')
    const texts = (await Promise.all(read)).filter((text) => text !== '')
    expect(texts.join()).toContain('bad__lone')
    for (const text of texts) for (const json of jsonIn(text)) strict(json)
  })
})

/** The JSON of a whole body, or of each event. */
function jsonIn(text: string): string[] {
  if (text.startsWith('{') || text.startsWith('[')) return [text]
  return text
    .split('\n')
    .filter((line) => /^data: *\S/.test(line))
    .map((line) => line.slice(5))
}

describe('H11 a model that answers with halves of pairs', () => {
  it.each(['messages', 'chat/completions', 'responses'])(
    'is read by every client of /v1/%s',
    async (path) => {
      const call = {
        id: 'call_1',
        type: 'function',
        function: { name: 'Read', arguments: JSON.stringify({ [HALF]: HALF }) },
      }
      const message = {
        ...{
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'm',
          stop_reason: 'end_turn',
          stop_sequence: null,
        },
        ...{ content: [{ type: 'text', text: HALF }], usage: { input_tokens: 1, output_tokens: 1 } },
      }
      const upstream = await serveChat(() => ({ body: completion({ content: HALF, tool_calls: [call] }) }))
      const recorded = await record({
        status: 200,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(message),
      })
      const gateway = await start(
        path === 'chat/completions'
          ? createMessagesUpstream({ url: recorded.url })
          : createChatUpstream({ url: upstream.url }),
      )
      const parameters = { type: 'object', properties: {} }
      const body = {
        messages: { ...ask([{ name: 'Read', input_schema: parameters }]), stream: false },
        'chat/completions': {
          model: 'm',
          messages: [{ role: 'user', content: 'go' }],
          tools: [{ type: 'function', function: { name: 'Read', parameters } }],
        },
        responses: { model: 'm', input: 'go', tools: [{ type: 'function', name: 'Read', parameters }] },
      }[path]
      for (const stream of [false, true]) {
        const response = await fetch(`${gateway.url}/v1/${path}`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            'anthropic-version': '2023-06-01',
            'x-api-key': 'k',
          },
          body: JSON.stringify({ ...body, stream }),
        })
        const text = await response.text()
        expect([response.status, text]).toEqual([200, expect.stringContaining('half \\ufffd of 😀')])
        for (const json of jsonIn(text).filter((one) => one.trim() !== '[DONE]')) strict(json)
      }
    },
  )
})

describe('H11 what is kept', () => {
  it('the audit file has only whole characters', async () => {
    const folder = makeFolder()
    const file = join(folder.path, 'audit.jsonl')
    const audit = openAuditFile(file, { hasContent: true, notify: () => {}, redact: (text) => text })
    const stamp = { version: 1, time: 't', processId: 1, sequence: 1 } as const
    audit.write({ ...stamp, type: 'search', query: HALF, content: { [HALF]: HALF } } as never)
    await audit.close()
    const text = readFileSync(file, 'utf8')
    expect(text).toContain('half \\ufffd of 😀')
    for (const line of text.trim().split('\n')) strict(line)
    folder.remove()
  })

  it('only halves are replaced: pairs, however written, and backslashes in front of other text stay', () => {
    const kept = [
      '"😀"',
      '"\\ud83d\\ude00"',
      '"\\uD83D\\uDE00"',
      '"\\\\ud83d"',
      '"\\\\\\\\ud83d"',
      '"\\u0041"',
    ]
    for (const json of kept) expect(wellFormedJson(json)).toBe(json)
    expect(wellFormedJson('"\\ud83d\\ud83d\\ude00\\ude00\\\\\\ud83d"')).toBe(
      '"\\ufffd\\ud83d\\ude00\\ufffd\\\\\\ufffd"',
    )
  })
})
