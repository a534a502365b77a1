// Stands between the gateway and a model and records what really went upstream: each request, the names of its tools, and the
// input tokens that the model reported for it.
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { serveMessagesGateway } from '../../packages/cli/src/http/messages/server.ts'
import { rankers } from '../../packages/core/src/rankers/rankers.ts'
import { createMessagesGateway } from '../../packages/messages/src/gateway.ts'
import type { GatewayMode } from '../../packages/messages/src/plan.ts'
import { createScriptUpstream } from '../../packages/messages/src/upstream/script.ts'
import { readScript } from '../../packages/messages/src/upstream/script-file.ts'
import { scriptWith } from './conversation.ts'
import { listenHere } from './loopback.ts'
import type { SentRequest } from './sent.ts'

/** A request that the model answered. */
export type Sent = {
  readonly tools: readonly string[]
  readonly inputTokens: number
  readonly request: SentRequest
}

export type Recorder = { readonly url: string; readonly sent: readonly Sent[]; stop(): Promise<void> }

type Tool = {
  readonly type?: string
  readonly name?: string
  readonly function?: { readonly name: string }
  readonly tools?: readonly Tool[]
}

/** Forwards every request to `target`. Requests without tools are chores, such as a title: they are not recorded. */
export async function startRecorder(target: string): Promise<Recorder> {
  const sent: Sent[] = []
  const { url, close } = await listenHere(async (request, response) => {
    const body = await buffer(request)
    const answer = await fetch(target + request.url, {
      method: request.method ?? 'GET',
      headers: headersOf(request),
      ...(body.length > 0 ? { body } : {}),
    })
    const text = await answer.text()
    const asked = body.length > 0 ? JSON.parse(body.toString()) : {}
    const tools = toolsIn(asked)
    const made = { path: request.url ?? '', headers: request.headers, body: asked }
    if (answer.ok && tools.length > 0) sent.push({ tools, inputTokens: tokensIn(text), request: made })
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
    await pipeline(Readable.from([text]), response).catch(() => {})
  })
  return { url, sent, stop: close }
}

/** A script plays the model in this process, behind all three APIs, with a recorder before it; it hides nothing. */
export async function startRecordedScript(
  options: object = {},
  mode: GatewayMode = 'off',
): Promise<Recorder> {
  const gateway = createMessagesGateway({
    upstream: createScriptUpstream({ script: readScript(scriptWith(options)) }),
    rankers: { own: rankers.hybrid, bm25: rankers.hybrid, regex: rankers.regex },
    keep: [],
    notify: () => {},
  })
  const model = await serveMessagesGateway({ gateway, setting: { mode, share: 100 }, port: 0 })
  const recorder = await startRecorder(model.url)
  return { ...recorder, stop: () => recorder.stop().then(model.close) }
}

function headersOf({ headers }: IncomingMessage): [string, string][] {
  const dropped = ['host', 'connection', 'content-length', 'accept-encoding', 'transfer-encoding', 'expect']
  return Object.entries(headers)
    .filter(([name]) => !dropped.includes(name))
    .map(([name, value]) => [name, String(value)])
}

function toolsIn({ tools = [] }: { readonly tools?: readonly Tool[] }): string[] {
  return tools.flatMap(namesOf)
}

function namesOf(tool: Tool): string[] {
  if (tool.type === 'namespace')
    return (tool.tools ?? []).flatMap(namesOf).map((name) => `${tool.name}__${name}`)
  return [tool.function?.name ?? tool.name ?? tool.type ?? '']
}

/** The last count counts: streams of the Messages API begin with a first guess. */
function tokensIn(text: string): number {
  const counts = [...text.matchAll(/"(?:input|prompt)_tokens":(\d+)/g)].map(([, count]) => Number(count))
  return counts.at(-1) ?? 0
}
