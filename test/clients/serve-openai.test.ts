// Agents written with the OpenAI SDK in front of `toolshelf serve`: both of its APIs, streamed and not. The SDK is one of our
// own development dependencies, so that nothing is installed for it.
import { type AgentCase, describeAgent } from './agent-suite.ts'
import type { Clients } from './install.ts'
import { type OpenaiOptions, startOpenai } from './openai-agent.ts'

const clients: Clients = { missing: undefined, node: process.execPath, file: (path) => path }

const cases: readonly (Pick<AgentCase, 'name' | 'upstream' | 'isExtra'> & OpenaiOptions)[] = [
  { name: 'OpenAI SDK, Chat Completions, streamed', upstream: 'openai:', api: 'chat', isStream: true },
  { name: 'OpenAI SDK, Responses', upstream: 'responses:', api: 'responses', isStream: false },
  { name: 'OpenAI SDK, Chat Completions', upstream: '', api: 'chat', isStream: false, isExtra: true },
  {
    name: 'OpenAI SDK, Responses, streamed',
    upstream: 'openai:',
    api: 'responses',
    isStream: true,
    isExtra: true,
  },
]

for (const { api, isStream, ...one } of cases)
  describeAgent({ ...one, clients, start: (home, url) => startOpenai(home, url, { api, isStream }) })
