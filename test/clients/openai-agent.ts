// Agent loops written with the OpenAI SDK, as its documentation shows them: one for each of OpenAI's two APIs, streamed or not.
// The tools are those of the MCP servers, run in the process of the test.
import OpenAI from 'openai'
import type { Agent } from './agent-suite.ts'
import type { PlainTool } from './servers.ts'

export type OpenaiOptions = { readonly api: 'chat' | 'responses'; readonly isStream: boolean }

type Loop = (text: string) => Promise<string>
type Run = (name: string, json: string) => Promise<string>

const MAX_STEPS = 8

/** `tools` are those of servers that are connected already and stay so. */
export function startOpenai(
  tools: readonly PlainTool[],
  url: string,
  { api, isStream }: OpenaiOptions,
): Agent {
  const called: string[] = []
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none' })
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const run: Run = async (name, json) => {
    const tool = byName.get(name)
    if (!tool) throw new Error(`the model called ${name}, which is not a tool`)
    called.push(name)
    return tool.run(JSON.parse(json))
  }
  const ask = (api === 'chat' ? chatLoop : responsesLoop)(client, tools, run, isStream)
  return { ask, called, stop: async () => {} }
}

function chatLoop(client: OpenAI, plain: readonly PlainTool[], run: Run, isStream: boolean): Loop {
  const tools = plain.map(({ name, description, schema }) => ({
    type: 'function' as const,
    function: { name, description, parameters: schema as OpenAI.FunctionParameters },
  }))
  const messages: OpenAI.ChatCompletionMessageParam[] = []
  const sample = async (): Promise<OpenAI.ChatCompletionMessage> => {
    const asked = { model: 'gpt-5.2', messages, tools }
    const reply = isStream
      ? await client.chat.completions
          .stream({ ...asked, stream_options: { include_usage: true } })
          .finalChatCompletion()
      : await client.chat.completions.create(asked)
    const [choice] = reply.choices
    if (!choice || !reply.usage) throw new Error('a reply has no choice or no usage')
    return choice.message
  }
  return async (text) => {
    messages.push({ role: 'user', content: text })
    for (let step = 0; step < MAX_STEPS; step++) {
      const message = await sample()
      messages.push(message)
      const calls = message.tool_calls ?? []
      if (calls.length === 0) return message.content ?? ''
      for (const call of calls) {
        if (call.type !== 'function') throw new Error(`a call has the type ${call.type}`)
        const content = await run(call.function.name, call.function.arguments)
        messages.push({ role: 'tool', tool_call_id: call.id, content })
      }
    }
    throw new Error('the model goes on calling tools')
  }
}

function responsesLoop(client: OpenAI, plain: readonly PlainTool[], run: Run, isStream: boolean): Loop {
  const tools = plain.map(({ name, description, schema }) => ({
    type: 'function' as const,
    name,
    description,
    parameters: schema as OpenAI.FunctionParameters,
    strict: false,
  }))
  const input: OpenAI.Responses.ResponseInputItem[] = []
  const sample = async (): Promise<OpenAI.Responses.Response> => {
    const asked = { model: 'gpt-5.2', input, tools, store: false }
    const include = ['reasoning.encrypted_content' as const]
    return isStream
      ? client.responses.stream({ ...asked, include }).finalResponse()
      : client.responses.create({ ...asked, include })
  }
  return async (text) => {
    input.push({ role: 'user', content: text })
    for (let step = 0; step < MAX_STEPS; step++) {
      const { output, status } = await sample()
      if (status !== 'completed') throw new Error(`a response is ${status}`)
      input.push(...(output as OpenAI.Responses.ResponseInputItem[]))
      const calls = output.filter((item) => item.type === 'function_call')
      if (calls.length === 0) return textIn(output)
      for (const { call_id: callId, name, arguments: json } of calls)
        input.push({ type: 'function_call_output', call_id: callId, output: await run(name, json) })
    }
    throw new Error('the model goes on calling tools')
  }
}

/** The SDK's own `output_text` is missing in streamed responses. */
function textIn(output: OpenAI.Responses.ResponseOutputItem[]): string {
  const parts = output.flatMap((item) => (item.type === 'message' ? item.content : []))
  return parts.map((part) => (part.type === 'output_text' ? part.text : '')).join('')
}
