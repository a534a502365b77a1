// The AI SDK's own MCP client against the gateway, on stdio and over HTTP: not the SDK that the gateway is built with.
import { readFileSync } from 'node:fs'
import { createMCPClient } from '@ai-sdk/mcp'
import { Experimental_StdioMCPTransport as StdioTransport } from '@ai-sdk/mcp/mcp-stdio'
import { afterAll, describe, expect, it } from 'vitest'
import { isThorough } from '../../packages/testkit/src/runs.ts'
import { serveHere, serveScript, text } from '../mcp/support/server-here.ts'
import { gatewayCommand, makeHome, startHttpGateway } from './gateway.ts'
import { expectRecorded, recordedCommand, recordHttp } from './mcp-sent.ts'

const home = makeHome()
afterAll(home.remove)

/** Behind the gateway are two servers in this process; with more effort one of them is real. */
const calculator = { url: serveScript('healthy') }
const light = {
  url: serveHere(() => ({
    'tools/list': () => ({
      tools: [{ name: 'read_text_file', description: 'Reads a file', inputSchema: { type: 'object' } }],
    }),
    'tools/call': ({ arguments: { path } }) => {
      const content = readFileSync(path, 'utf8')
      return { ...text(content), structuredContent: { content } }
    },
  })),
}
const files = isThorough ? home.servers.files : light
const config = home.write('two.json', { mcpServers: { calculator, files } })

type Result = { readonly content: readonly { readonly text?: string }[] }

async function onStdio() {
  const command = recordedCommand(gatewayCommand(process.execPath, config), home, 'stdio')
  const client = await createMCPClient({
    transport: new StdioTransport({ ...command, env: home.environment, stderr: 'ignore' }),
  })
  return { client, close: () => client.close(), check: () => expectRecorded('AI SDK', 'stdio', home) }
}

async function overHttp() {
  const gateway = await startHttpGateway(process.execPath, { ...home, config })
  const recorder = await recordHttp(gateway.url)
  const client = await createMCPClient({ transport: { type: 'http', url: recorder.url } })
  const close = () => client.close().then(recorder.stop).then(gateway.stop)
  return { client, close, check: () => recorder.expect('AI SDK') }
}

describe.each([
  { way: 'on stdio', open: onStdio },
  { way: 'over HTTP', open: overHttp },
])('the AI SDK as an MCP client, $way', ({ open }) => {
  it('S8 sees two tools, searches, and calls what it found on two servers', async () => {
    const { client, close, check } = await open()
    try {
      const tools = await client.tools()
      expect(Object.keys(tools)).toEqual(['ToolSearch', 'CallTool'])
      const use = async (name: string, input: object) => {
        const result = (await tools[name]?.execute(input, { toolCallId: 'one', messages: [] })) as Result
        return result.content.map((part) => part.text ?? '').join('\n')
      }
      // A busy machine takes longer to start a server than a search waits for it.
      let found = 'still connecting'
      while (found.includes('still connecting'))
        found = await use('ToolSearch', { query: 'sum of two numbers' })
      expect(found).toContain('calculator__add')
      const sum = { name: 'calculator__add', arguments: { a: 3, b: 4 } }
      expect(await use('CallTool', sum)).toBe('7')
      const note = { name: 'files__read_text_file', arguments: { path: `${home.files}/note.txt` } }
      expect(await use('CallTool', note)).toContain('the note says seven')
      check()
    } finally {
      await close()
    }
  })
})
