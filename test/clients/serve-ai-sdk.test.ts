// The AI SDK's agent loop with Anthropic's own search over the tools of three servers, all of them deferred: the
// gateway runs the search for models that have none.
import { createAnthropic } from '@ai-sdk/anthropic'
import { createMCPClient } from '@ai-sdk/mcp'
import { Experimental_StdioMCPTransport as StdioTransport } from '@ai-sdk/mcp/mcp-stdio'
import { generateText, type ModelMessage, stepCountIs, streamText, type Tool, type ToolSet } from 'ai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sizeOf } from '../../packages/testkit/src/runs.ts'
import { type Ask, checkLoaded, checkLog, converse, scriptWith } from './conversation.ts'
import { type Home, makeHome } from './gateway.ts'
import { type Model, startModel } from './model.ts'
import { checkEmulated, obedient, useTools } from './obedient.ts'
import { type Recorder, startRecordedScript, startRecorder } from './recorder.ts'
import { expectSent } from './sent.ts'
import { type Serving, serveHere, startServing } from './serving.ts'

type Part = { readonly type: string; readonly toolName?: string }

async function connect(home: Home) {
  const tools: ToolSet = {}
  const open: { close(): Promise<void> }[] = []
  for (const [server, given] of Object.entries(home.servers)) {
    const client = await createMCPClient({
      transport: new StdioTransport({ ...given, args: [...given.args], stderr: 'ignore' }),
    })
    open.push(client)
    for (const [name, tool] of Object.entries(await client.tools()))
      tools[`${server}__${name}`] = {
        ...(tool as Tool),
        providerOptions: { anthropic: { deferLoading: true } },
      }
  }
  return { tools, close: () => Promise.all(open.map((client) => client.close())) }
}

/** The servers of all tests: they take longer to start than a conversation. Each begins with an empty memory. */
const home = makeHome()
let connected: Awaited<ReturnType<typeof connect>>
beforeAll(async () => {
  connected = await connect(home)
})
afterAll(async () => {
  await connected?.close()
  home.remove()
})

async function startAgent(url: string, isStream: boolean) {
  const anthropic = createAnthropic({ baseURL: `${url}/v1`, apiKey: 'none' })
  const { tools } = connected
  home.forget()
  const messages: ModelMessage[] = []
  const ask: Ask = async (text) => {
    messages.push({ role: 'user', content: text })
    const asked = {
      model: anthropic('script'),
      tools: { tool_search_tool_bm25: anthropic.tools.toolSearchBm25_20251119() as Tool, ...tools },
      messages,
      maxOutputTokens: 4096,
      stopWhen: stepCountIs(8),
    }
    const failures: unknown[] = []
    const onError = ({ error }: { error: unknown }) => void failures.push(error)
    const reply = isStream ? streamText({ ...asked, onError }) : await generateText(asked)
    const answer = await reply.text
    if (failures.length > 0) throw failures[0]
    messages.push(...(await reply.response).messages)
    return answer
  }
  return { ask, messages }
}

/**
 * The first with the command, the others with a gateway in this process. Three by default, all with TEST_EFFORT above 1;
 * test/messages has every wire, streamed and not, without an agent. `mode` is what the model's side does with searches.
 */
const ways = [
  { wire: 'bridge', upstream: 'a URL', isStream: false, script: { api: 'old' }, mode: 'off' },
  { wire: 'native', upstream: 'a script', isStream: true, script: { boundThinking: true } },
  { wire: 'native', upstream: 'a URL', isStream: true, script: { boundThinking: true }, mode: 'emulate' },
  { wire: 'append', upstream: 'a URL', isStream: true, script: { api: 'old' }, mode: 'off' },
] as const
const tried = ways.slice(0, sizeOf({ quick: 3, full: 4 }))

describe.each(tried)('the AI SDK, emulated, wire $wire, upstream $upstream', (way) => {
  const { wire, isStream, script } = way
  let recorder: Recorder | undefined
  let serving: Serving
  let agent: Awaited<ReturnType<typeof startAgent>>
  beforeAll(async () => {
    recorder = 'mode' in way ? await startRecordedScript(script, way.mode) : undefined
    const upstream = recorder?.url ?? `script:${home.write('script.json', scriptWith(script))}`
    const words = ['--upstream', upstream, '--mode', 'emulate', '--wire', wire]
    serving =
      way === ways[0]
        ? await startServing(process.execPath, home, ...words)
        : await serveHere({ upstream, mode: 'emulate', wire })
    agent = await startAgent(serving.url, isStream)
  })
  afterAll(async () => {
    await serving?.stop()
    await recorder?.stop()
  })

  it('holds a long conversation in which the model sees a tool only after it searched', async () => {
    await converse(agent.ask, serving, home.files)
    checkLog(serving.log, { mode: 'emulate', wire })
    // What the upstream's own search finds, it loads itself.
    const isHosted = wire === 'native' && recorder !== undefined
    if (isHosted) expect(serving.log.flatMap(({ loaded }) => loaded)).toEqual([])
    else checkLoaded(serving.log)
    if (recorder) expectSent(`AI SDK Anthropic, emulate, ${wire}`, recorder.sent)
  })

  it('sees each search and its result, and keeps both', () => {
    const parts = agent.messages.flatMap<Part>(({ content }) => (typeof content === 'string' ? [] : content))
    const searches = parts.filter(({ toolName }) => toolName === 'tool_search_tool_bm25')
    const count = (type: string) => searches.filter((part) => part.type === type).length
    expect(count('tool-call')).toBeGreaterThan(7)
    expect(count('tool-result')).toBe(count('tool-call'))
  })
})

describe('the AI SDK, emulated, chat completions', () => {
  let model: Model
  let recorder: Recorder
  let serving: Serving
  let agent: Awaited<ReturnType<typeof startAgent>>
  beforeAll(async () => {
    model = await startModel(obedient('tool_search_tool_bm25'))
    recorder = await startRecorder(new URL(model.url).origin)
    serving = await serveHere({ upstream: `openai:${recorder.url}/v1` })
    agent = await startAgent(serving.url, true)
  })
  afterAll(async () => {
    await serving?.stop()
    await recorder?.stop()
    await model?.close()
  })

  it('searches and calls tools of three servers, before and after a restart', async () => {
    await useTools(agent.ask, serving, home.files)
    const loaded = checkEmulated(serving.log)
    // A request that searches is paid for twice; one that does not shows what the tools would have cost.
    const plain = serving.log.filter(({ searches }) => searches === 0)
    expect(plain[0]?.tokensSaved).toBeGreaterThan(0)
    expect(loaded).toEqual(expect.arrayContaining(['everything__echo', 'memory__create_entities']))
    expect(model.turns[0]?.tools).toEqual(['tool_search_tool_bm25'])
    expect(model.turns.at(-1)?.tools).toEqual(expect.arrayContaining(loaded))
    expectSent('AI SDK Anthropic, emulate, Chat Completions', recorder.sent)
  })
})
