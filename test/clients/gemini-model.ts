// A model that does what a test says, behind the Gemini API on loopback: generateContent, streamed or not.
import { json } from 'node:stream/consumers'
import { listenHere } from './loopback.ts'
import type { Model, Step, Turn } from './model.ts'

type Body = {
  readonly tools?: readonly { readonly functionDeclarations?: readonly { readonly name: string }[] }[]
  readonly contents: readonly { readonly parts: readonly object[] }[]
}

/** Requests without tools are chores: they are answered and not counted. */
export async function startGeminiModel(decide: (turn: Turn, index: number) => Step): Promise<Model> {
  const turns: Turn[] = []
  const server = await listenHere(async (request, response) => {
    const { tools = [], contents } = (await json(request)) as Body
    const names = tools
      .flatMap(({ functionDeclarations = [] }) => functionDeclarations)
      .map(({ name }) => name)
    const turn = { tools: names, last: JSON.stringify(contents.at(-1)?.parts) }
    if (names.length > 0) turns.push(turn)
    const reply = replyOf(names.length > 0 ? decide(turn, turns.length - 1) : { say: 'A title' })
    const isStream = request.url?.includes(':streamGenerateContent')
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
    response.end(isStream ? `data: ${reply}\n\n` : reply)
  })
  return { ...server, turns }
}

function replyOf(step: Step): string {
  const part = 'say' in step ? { text: step.say } : { functionCall: { name: step.call, args: step.input } }
  return JSON.stringify({
    candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  })
}
