// Agents written with the OpenAI SDK in front of `toolshelf serve`: both of its APIs, streamed and not. The SDK is one of our
// own development dependencies, so that nothing is installed for it.
import { afterAll, beforeAll } from 'vitest'
import { isThorough } from '../../packages/testkit/src/runs.ts'
import { type AgentCase, describeAgent } from './agent-suite.ts'
import { makeHome, manyTools } from './gateway.ts'
import type { Clients } from './install.ts'
import { type OpenaiOptions, startOpenai } from './openai-agent.ts'
import { type Connected, connectServers } from './servers.ts'

const clients: Clients = { missing: undefined, node: process.execPath, file: (path) => path }

const cases: readonly (Pick<AgentCase, 'name' | 'upstream' | 'isExtra' | 'isServedHere'> & OpenaiOptions)[] =
  [
    {
      name: 'OpenAI SDK, Chat Completions, streamed',
      upstream: 'openai:',
      api: 'chat',
      isStream: true,
      // The AI SDK meets the command, also after a restart.
      isServedHere: !isThorough,
    },
    {
      name: 'OpenAI SDK, Responses',
      upstream: 'responses:',
      api: 'responses',
      isStream: false,
      isServedHere: true,
    },
    { name: 'OpenAI SDK, Chat Completions', upstream: '', api: 'chat', isStream: false, isExtra: true },
    {
      name: 'OpenAI SDK, Responses, streamed',
      upstream: 'openai:',
      api: 'responses',
      isStream: true,
      isExtra: true,
    },
  ]

/** The servers of all cases: they take longer to start than a conversation. */
const home = makeHome(manyTools)
let servers: Connected
beforeAll(async () => {
  servers = await connectServers(home)
})
afterAll(async () => {
  await servers?.close()
  home.remove()
})

for (const { api, isStream, ...one } of cases)
  describeAgent({
    ...{ ...one, clients, home },
    start: async (_, url) => startOpenai(servers.tools, url, { api, isStream }),
  })
