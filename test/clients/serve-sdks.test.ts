// Agent loops of SDKs in front of `toolshelf serve`, each in the API that it speaks: the AI SDK with its providers for
// OpenAI and for compatible servers, LangChain, and Mastra.
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { isThorough } from '../../packages/testkit/src/runs.ts'
import { type Agent, type AgentCase, describeAgent } from './agent-suite.ts'
import { type Home, makeHome, manyTools } from './gateway.ts'
import { prepareClients } from './install.ts'
import { type Model, startModel } from './model.ts'
import { checkEmulated, obedient, useTools } from './obedient.ts'
import { type Recorder, startRecorder } from './recorder.ts'
import { converser, MAX_STEPS } from './sdk-agent.ts'
import { expectSent } from './sent.ts'
import { type Serving, startServing } from './serving.ts'

const modules = {
  ai: 'ai/dist/index.mjs',
  openai: '@ai-sdk/openai/dist/index.mjs',
  compatible: '@ai-sdk/openai-compatible/dist/index.mjs',
  langchain: 'langchain/dist/index.js',
  chatOpenAI: '@langchain/openai/dist/index.js',
  chatAnthropic: '@langchain/anthropic/dist/index.js',
  mastraAgent: '@mastra/core/dist/agent/index.js',
  mastraTools: '@mastra/core/dist/tools/index.js',
}
const clients = await prepareClients(Object.values(modules), { folder: 'sdks', largeMB: 390 })
const load = (module: keyof typeof modules) => import(pathToFileURL(clients.file(modules[module])).href)

// Mastra would report that it is used, and fetch a list of providers.
vi.stubEnv('MASTRA_TELEMETRY_DISABLED', '1')
vi.stubEnv('MASTRA_OFFLINE', 'true')
afterAll(() => void vi.unstubAllEnvs())

const deferred = { providerOptions: { openai: { deferLoading: true } } }
const apiKey = 'none'
type ModelOf = (url: string) => Promise<unknown>

/** `search`: OpenAI's own tool search, with which all other tools are deferred. */
function aiSdk(modelOf: ModelOf, isStream: boolean, search?: () => Promise<object>): AgentCase['start'] {
  return (home, url) =>
    converser(home, async (plain) => {
      const { generateText, streamText, stepCountIs, jsonSchema } = await load('ai')
      const model = await modelOf(url)
      const tools: { [name: string]: object } = Object.fromEntries(
        plain.map(({ name, description, schema, run }) => [
          name,
          { description, inputSchema: jsonSchema(schema), execute: run, ...(search ? deferred : {}) },
        ]),
      )
      if (search) tools.tool_search = await search()
      return async (messages) => {
        const providerOptions = { openai: { store: false } }
        const asked = { model, tools, messages, stopWhen: stepCountIs(MAX_STEPS), providerOptions }
        const failures: unknown[] = []
        const onError = ({ error }: { error: unknown }) => failures.push(error)
        const reply = isStream ? streamText({ ...asked, onError }) : await generateText(asked)
        const text = await reply.text
        if (failures.length > 0) throw failures[0]
        return { text, added: (await reply.response).messages }
      }
    })
}

function langChain(modelOf: ModelOf): AgentCase['start'] {
  return (home, url) =>
    converser(home, async (plain) => {
      const { createAgent, tool } = await load('langchain')
      const tools = plain.map(({ run, ...definition }) => tool(run, definition))
      const agent = createAgent({ model: await modelOf(url), tools })
      return async (messages) => {
        const state = await agent.invoke({ messages })
        const added = state.messages.slice(messages.length)
        return { text: added.at(-1).text, added }
      }
    })
}

/** Mastra's own model router, given a URL, speaks Chat Completions. */
function mastra(): AgentCase['start'] {
  return (home, url) =>
    converser(home, async (plain) => {
      const [{ Agent: MastraAgent }, { createTool }] = [await load('mastraAgent'), await load('mastraTools')]
      const tools = Object.fromEntries(
        plain.map(({ name, description, schema, run }) => [
          name,
          createTool({ id: name, description, inputSchema: schema, execute: run }),
        ]),
      )
      const model = { providerId: 'shelf', modelId: 'small-1', url: `${url}/v1`, apiKey }
      const agent = new MastraAgent({
        id: 'agent',
        name: 'agent',
        instructions: 'Help.',
        model,
        tools,
        maxRetries: 2,
      })
      return async (messages) => {
        const reply = await agent.generate(messages, { maxSteps: MAX_STEPS })
        return { text: reply.text, added: reply.response.messages }
      }
    })
}

const openai = async (url: string) => (await load('openai')).createOpenAI({ baseURL: `${url}/v1`, apiKey })
const configuration = (url: string) => ({ baseURL: `${url}/v1` })

const cases: readonly Omit<AgentCase, 'clients'>[] = [
  {
    name: 'AI SDK, @ai-sdk/openai, Responses',
    upstream: 'responses:',
    start: aiSdk(async (url) => (await openai(url)).responses('gpt-5.2'), true),
  },
  {
    name: 'AI SDK, @ai-sdk/openai, Chat Completions',
    isExtra: true,
    upstream: '',
    start: aiSdk(async (url) => (await openai(url)).chat('gpt-5.2'), false),
  },
  {
    name: 'AI SDK, @ai-sdk/openai-compatible',
    isExtra: true,
    upstream: 'openai:',
    start: aiSdk(
      async (url) =>
        (await load('compatible')).createOpenAICompatible({
          name: 'shelf',
          baseURL: `${url}/v1`,
          apiKey,
          includeUsage: true,
        })('small-1'),
      true,
    ),
  },
  {
    name: 'LangChain, ChatOpenAI',
    upstream: 'openai:',
    start: langChain(
      async (url) =>
        new (await load('chatOpenAI')).ChatOpenAI({
          model: 'small-1',
          apiKey,
          configuration: configuration(url),
        }),
    ),
  },
  {
    name: 'LangChain, ChatOpenAI, Responses',
    isExtra: true,
    upstream: 'openai:',
    start: langChain(
      async (url) =>
        new (await load('chatOpenAI')).ChatOpenAI({
          model: 'small-1',
          apiKey,
          configuration: configuration(url),
          useResponsesApi: true,
          zdrEnabled: true,
          streaming: true,
        }),
    ),
  },
  {
    name: 'LangChain, ChatAnthropic',
    isExtra: true,
    upstream: 'openai:',
    start: langChain(
      async (url) =>
        new (await load('chatAnthropic')).ChatAnthropic({ model: 'small-1', apiKey, anthropicApiUrl: url }),
    ),
  },
  { name: 'Mastra', upstream: 'openai:', start: mastra() },
]

for (const one of cases) describeAgent({ ...one, clients })

const isEmulated = clients.missing === undefined && isThorough
describe.runIf(isEmulated)('AI SDK, @ai-sdk/openai, Responses, emulated', () => {
  let home: Home
  let model: Model
  let recorder: Recorder
  let serving: Serving
  let agent: Agent
  beforeAll(async () => {
    home = makeHome(manyTools)
    model = await startModel(obedient('tool_search_tool_bm25'))
    recorder = await startRecorder(new URL(model.url).origin)
    serving = await startServing(clients.node, home, '--upstream', `openai:${recorder.url}/v1`)
    const search = async () => (await load('openai')).openai.tools.toolSearch()
    const start = aiSdk(async (url) => (await openai(url)).responses('gpt-5.5'), true, search)
    agent = await start(home, serving.url)
  })
  afterAll(async () => {
    await agent?.stop()
    await serving?.stop()
    await recorder?.stop()
    await model?.close()
    home?.remove()
  })

  it("runs OpenAI's hosted search for a model without one, before and after a restart", async () => {
    await useTools(agent.ask, serving, home.files)
    const loaded = checkEmulated(serving.log)
    expectSent('AI SDK, @ai-sdk/openai, Responses, emulate', recorder.sent)
    expect(loaded).toEqual(expect.arrayContaining(['everything__echo', 'memory__create_entities']))
    expect(model.turns[0]?.tools).toEqual(['tool_search_tool_bm25'])
    expect(model.turns.at(-1)?.tools).toEqual(expect.arrayContaining(loaded))
    const [first, last] = [serving.log[0], serving.log.at(-1)]
    if (process.env.SHOW_FIGURES)
      process.stderr.write(
        `AI SDK, emulate: ${first?.toolsGiven} tools given, ${first?.toolsVisible}–${last?.toolsVisible} visible\n`,
      )
  })
})
