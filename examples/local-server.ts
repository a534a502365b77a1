// A Messages API on loopback for examples and tests. It checks each request as the API would (the oracle), and
// answers from a script in place of a model: a step may call only tools that the model could see.
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { countTokens, sign, validate, visibleTools } from '../src/core/oracle/index.ts'

/** What the scripted model does at one request. */
export type ScriptStep =
  | { readonly say: string }
  | { readonly call: string; readonly input: object }
  | { readonly calls: readonly { readonly call: string; readonly input: object }[] }

/** A request as it arrived, and what the API made of it. */
export type Received = {
  readonly request: { readonly [field: string]: unknown }
  readonly headers: IncomingMessage['headers']
  readonly visible: readonly string[]
  readonly tokens: number
  /** What the scripted model did then, in a few words. */
  readonly deed: string
  readonly refused?: string
}

export type LocalServerOptions = {
  /** Plays a proxy that has never heard of tool search. */
  readonly oldProxy?: boolean
  /** Signs thinking to the prefix it was made on, and refuses it on any other. */
  readonly boundThinking?: boolean
}

export type LocalServer = {
  readonly url: string
  readonly received: readonly Received[]
  close(): Promise<void>
}

export async function startLocalServer(
  script: readonly ScriptStep[],
  options: LocalServerOptions = {},
): Promise<LocalServer> {
  const received: Received[] = []
  let step = 0
  const server = createServer(async (incoming, outgoing) => {
    const request = JSON.parse(await bodyOf(incoming)) as Received['request']
    const betas = String(incoming.headers['anthropic-beta'] ?? '')
    const refusal = validate(request, { ...options, betas: betas.split(',').filter((beta) => beta !== '') })
    const visible = visibleTools(request)
    const next = refusal ? undefined : script[step++]
    const refused = refusal ? { refused: refusal.body.error.message } : {}
    const seen = { visible, tokens: countTokens(request), deed: deedOf(next) }
    received.push({ request, headers: incoming.headers, ...seen, ...refused })
    const answer = refusal?.body ?? reply(next, request, visible, received.length, options)
    outgoing.writeHead(refusal?.status ?? 200, { 'content-type': 'application/json' })
    outgoing.end(JSON.stringify(answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, received, close: () => closed(server) }
}

function reply(
  step: ScriptStep | undefined,
  request: Received['request'],
  visible: readonly string[],
  number: number,
  { boundThinking }: LocalServerOptions,
) {
  const thinking = boundThinking
    ? [{ type: 'thinking', thinking: 'Next step.', signature: sign(request) }]
    : []
  const content = [...thinking, ...contentOf(step, visible, number)]
  const called = content.some(({ type }) => type === 'tool_use')
  return {
    id: `msg_${number}`,
    type: 'message',
    role: 'assistant',
    model: request.model,
    content,
    stop_reason: called ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: countTokens(request), output_tokens: 1 },
  }
}

function contentOf(step: ScriptStep | undefined, visible: readonly string[], number: number) {
  if (!step) return [text('The script has no further step.')]
  if ('say' in step) return [text(step.say)]
  const calls = 'calls' in step ? step.calls : [step]
  return calls.map(({ call, input }, index) =>
    visible.includes(call)
      ? { type: 'tool_use', id: `toolu_${number}_${index}`, name: call, input, caller: { type: 'direct' } }
      : text(`I cannot see a tool named ${call}.`),
  )
}

function deedOf(step: ScriptStep | undefined): string {
  if (!step) return 'had nothing to do'
  if ('say' in step) return 'answered'
  const calls = 'calls' in step ? step.calls : [step]
  return calls
    .map(({ call, input }) => ('query' in input ? `searched "${input.query}"` : `called ${call}`))
    .join(', ')
}

function text(content: string) {
  return { type: 'text', text: content }
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

function closed(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => void server.close(() => resolve()))
}
