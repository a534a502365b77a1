// A model that does what a test says, behind the chat completions API on loopback: what an agent talks to in these tests.
import { json } from 'node:stream/consumers'
import { listenHere } from './loopback.ts'

/** What the agent sent: the tools that it offers, and the last message's text. */
export type Turn = { readonly tools: readonly string[]; readonly last: string }

/** The model's next step: a call, or words, with which it is done. */
export type Step = { readonly call: string; readonly input: object } | { readonly say: string }

export type Model = { readonly url: string; readonly turns: Turn[]; close(): Promise<void> }

type Body = {
  readonly stream?: boolean
  readonly tools?: readonly { readonly function: { readonly name: string } }[]
  readonly messages: readonly { readonly content: unknown }[]
}

/** Requests without tools are chores, such as a title: they are answered and not counted. */
export async function startModel(decide: (turn: Turn, index: number) => Step): Promise<Model> {
  const turns: Turn[] = []
  const server = await listenHere(async (request, response) => {
    if (request.method === 'GET') return void response.end('{"data":[]}')
    const body = (await json(request)) as Body
    const step = body.tools?.length ? next(body) : { say: 'A title' }
    const isStream = body.stream === true
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
    const usage = usageOf(body)
    response.end(isStream ? streamed(step, usage) : JSON.stringify(completion(step, 'message', usage)))
  })

  function next(body: Body): Step {
    const tools = (body.tools ?? []).map(({ function: { name } }) => name)
    const { content } = body.messages.at(-1) ?? { content: '' }
    const turn = { tools, last: typeof content === 'string' ? content : JSON.stringify(content) }
    turns.push(turn)
    return decide(turn, turns.length - 1)
  }

  return { url: `${server.url}/v1`, turns, close: server.close }
}

type Usage = ReturnType<typeof usageOf>

/** Roughly what a real model would count. */
function usageOf(body: Body) {
  const prompt = Math.ceil(JSON.stringify(body).length / 3)
  return { prompt_tokens: prompt, completion_tokens: 1, total_tokens: prompt + 1 }
}

function completion(step: Step, part: 'message' | 'delta', usage: Usage) {
  const message =
    'say' in step
      ? { role: 'assistant', content: step.say }
      : { role: 'assistant', content: null, tool_calls: [toolCall(step)] }
  return {
    id: 'completion',
    object: part === 'delta' ? 'chat.completion.chunk' : 'chat.completion',
    created: 0,
    model: 'scripted',
    choices: [{ index: 0, [part]: message, finish_reason: 'say' in step ? 'stop' : 'tool_calls' }],
    usage,
  }
}

let calls = 0
function toolCall({ call, input }: { readonly call: string; readonly input: object }) {
  const id = `call_${++calls}`
  return { index: 0, id, type: 'function', function: { name: call, arguments: JSON.stringify(input) } }
}

function streamed(step: Step, usage: Usage): string {
  return `data: ${JSON.stringify(completion(step, 'delta', usage))}\n\ndata: [DONE]\n\n`
}
