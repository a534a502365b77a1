// More agent loops of SDKs in front of `toolshelf serve`: the OpenAI Agents SDK, TanStack AI, Strands, and the tool runner of the
// Anthropic SDK, which is one of our own development dependencies.
import { pathToFileURL } from 'node:url'
import Anthropic from '@anthropic-ai/sdk'
import { type AgentCase, describeAgent } from './agent-suite.ts'
import { type Clients, prepareClients } from './install.ts'
import { converser, MAX_STEPS } from './sdk-agent.ts'

const modules = {
  agents: '@openai/agents/dist/index.mjs',
  tanstack: '@tanstack/ai/dist/esm/index.js',
  tanstackOpenai: '@tanstack/ai-openai/dist/esm/index.js',
}
const clients = await prepareClients(Object.values(modules), { folder: 'sdks', largeMB: 390 })
const load = (module: keyof typeof modules) => import(pathToFileURL(clients.file(modules[module])).href)

const strandsModules = {
  sdk: '@strands-agents/sdk/dist/src/index.node.js',
  openai: '@strands-agents/sdk/dist/src/models/openai/index.js',
}
const strandsClients = await prepareClients(Object.values(strandsModules), { folder: 'strands', largeMB: 78 })
const loadStrands = (module: keyof typeof strandsModules) =>
  import(pathToFileURL(strandsClients.file(strandsModules[module])).href)

const apiKey = 'none'

const openaiAgents: AgentCase['start'] = (home, url) =>
  converser(home, async (plain) => {
    const { Agent, OpenAIProvider, Runner, tool } = await load('agents')
    const tools = plain.map(({ name, description, schema, run }) =>
      tool({ name, description, parameters: schema, strict: false, execute: run }),
    )
    const modelProvider = new OpenAIProvider({ apiKey, baseURL: `${url}/v1` })
    const runner = new Runner({ modelProvider, tracingDisabled: true })
    const agent = new Agent({ name: 'agent', model: 'gpt-5.2', tools, modelSettings: { store: false } })
    return async (messages) => {
      const { finalOutput, history } = await runner.run(agent, messages, { maxTurns: MAX_STEPS })
      return { text: finalOutput, added: history.slice(messages.length) }
    }
  })

const tanStack: AgentCase['start'] = (home, url) =>
  converser(home, async (plain) => {
    const { chat, maxIterations, StreamProcessor } = await load('tanstack')
    const { createOpenaiChatCompletions } = await load('tanstackOpenai')
    const adapter = createOpenaiChatCompletions('gpt-5.2', apiKey, { baseURL: `${url}/v1` })
    const tools = plain.map(({ name, description, schema, run }) => ({
      ...{ name, description, inputSchema: schema, execute: run },
    }))
    const processor = new StreamProcessor()
    return async (messages) => {
      processor.addUserMessage((messages.at(-1) as { content: string }).content)
      const asked = processor.toModelMessages()
      const agentLoopStrategy = maxIterations(MAX_STEPS)
      const { content } = await processor.process(
        chat({ adapter, messages: asked, tools, agentLoopStrategy }),
      )
      return { text: content, added: [] }
    }
  })

/** On Chat Completions it drops all but the last of several calls in a streamed reply, also without the gateway. */
const strands: AgentCase['start'] = (home, url) =>
  converser(home, async (plain) => {
    const { Agent, FunctionTool, NullConversationManager } = await loadStrands('sdk')
    const { OpenAIModel } = await loadStrands('openai')
    const tools = plain.map(
      ({ name, description, schema, run }) =>
        new FunctionTool({ name, description, inputSchema: schema, callback: run }),
    )
    const clientConfig = { baseURL: `${url}/v1` }
    const model = new OpenAIModel({ api: 'responses', apiKey, modelId: 'gpt-5.2', clientConfig })
    const agent = new Agent({
      model,
      tools,
      printer: false,
      conversationManager: new NullConversationManager(),
    })
    return async (messages) => {
      const result = await agent.invoke((messages.at(-1) as { content: string }).content)
      return { text: result.toString(), added: [] }
    }
  })

/** `thread`: otherwise the runner asks for a thread first, is refused, and then sends the whole conversation as here. */
const anthropicRunner: AgentCase['start'] = (home, url) =>
  converser(home, async (plain) => {
    const client = new Anthropic({ baseURL: url, apiKey })
    const tools = plain.map(({ name, description, schema, run }) => ({
      ...{ name, description, input_schema: schema as Anthropic.Beta.BetaTool.InputSchema, run },
      parse: (input: unknown) => input,
    }))
    return async (given) => {
      const messages = given as Anthropic.Beta.BetaMessageParam[]
      const settings = {
        model: 'small-1',
        max_tokens: 4096,
        max_iterations: MAX_STEPS,
        stream: true,
        thread: false,
      } as const
      const runner = client.beta.messages.toolRunner({ ...settings, messages: [...messages], tools })
      const { content } = await runner.runUntilDone()
      const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('')
      return { text, added: runner.params.messages.slice(messages.length) }
    }
  })

const own: Clients = { missing: undefined, node: process.execPath, file: (path) => path }

const cases: readonly AgentCase[] = [
  { name: 'OpenAI Agents SDK', clients, upstream: 'responses:', start: openaiAgents },
  { name: 'TanStack AI', clients, upstream: 'openai:', start: tanStack },
  { name: 'Strands', clients: strandsClients, upstream: 'responses:', start: strands },
  {
    name: 'Anthropic SDK',
    clients: own,
    upstream: '',
    overloaded: 529,
    isExtra: true,
    start: anthropicRunner,
  },
]

for (const one of cases) describeAgent(one)
