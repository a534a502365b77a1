// Counts the input tokens of a conversation of twenty turns with and without Toolshelf, on every wire, and how many of them a prompt
// cache would have kept. Every request that reaches the model counts, those of hidden searches too.

import type { Fields } from '../packages/core/src/lib/json.ts'
import { rankers } from '../packages/core/src/rankers/rankers.ts'
import type { PromptSegment } from '../packages/core/src/reading.ts'
import { extendsPrefix } from '../packages/core/src/reading.ts'
import { createCollector } from '../packages/core/src/reply.ts'
import { CHARACTERS_PER_TOKEN } from '../packages/core/src/tokens.ts'
import { createMessagesGateway } from '../packages/messages/src/gateway.ts'
import { parseModeSetting } from '../packages/messages/src/plan.ts'
import type { MessagesRequest, UpstreamWire } from '../packages/messages/src/types.ts'
import { createScriptUpstream, type ObservedRequest } from '../packages/messages/src/upstream/script.ts'
import { readScript } from '../packages/messages/src/upstream/script-file.ts'
import { table } from './report.ts'

const SIZES = [50, 150, 500]
const TURNS = 20
/** Different tools that the conversation uses, spread over all that there are. */
const USED = 8
const SYSTEM = 'You are a helpful agent. Work step by step and say what you did. '.repeat(130)
const RESULT = 'a line of what the tool found; '.repeat(40)
/** What a cached token costs to read and to write, in tokens that are not cached. */
const PRICE = { kept: 0.1, fresh: 1.25 }

const script = (api: 'current' | 'old') =>
  readScript({ api, rules: [{ when: 'use (\\S+)', do: [{ call: '{{1}}' }, { say: 'It is done.' }] }] })

type Cost = {
  readonly requests: number
  readonly extended: number
  readonly tokens: number
  readonly kept: number
  readonly calls: number
}

export async function measureConversation(tools: readonly Fields[]): Promise<string[]> {
  const rows: (string | number)[][] = []
  for (const size of SIZES) {
    const given = tools.slice(0, size)
    const without = await converse(given, 'off', 'native')
    rows.push([given.length, 'without', ...cells(without, without)])
    for (const wire of ['native', 'append', 'bridge'] as const)
      rows.push([given.length, wire, ...cells(await converse(given, 'shelve', wire), without)])
  }
  const header = [
    'tools',
    'shelve',
    'requests',
    'calls',
    'input tokens',
    'saved',
    'prefix kept',
    'extends the last',
  ]
  return [
    `Input tokens of ${TURNS} turns with one call each, of ${USED} different tools, a system prompt of ${SYSTEM.length} characters and results of ${RESULT.length}, summed over all requests to the model. Estimated by what the model sees, characters / ${CHARACTERS_PER_TOKEN}. Prefix kept: the share that stood at the start of the request before. With a cache: what is kept counts ${PRICE.kept}, the rest ${PRICE.fresh}.`,
    '',
    ...table([...header, 'with a cache', 'saved'], rows),
  ]
}

function cells(cost: Cost, without: Cost): (string | number)[] {
  const saved = (value: number, base: number) => `${((1 - value / base) * 100).toFixed(1)} %`
  return [
    cost.requests,
    `${cost.calls}/${TURNS}`,
    Math.round(cost.tokens).toLocaleString('en'),
    cost === without ? '' : saved(cost.tokens, without.tokens),
    `${((cost.kept / cost.tokens) * 100).toFixed(1)} %`,
    `${cost.extended}/${cost.requests - 1}`,
    Math.round(paid(cost)).toLocaleString('en'),
    cost === without ? '' : saved(paid(cost), paid(without)),
  ]
}

function paid({ tokens, kept }: Cost): number {
  return kept * PRICE.kept + (tokens - kept) * PRICE.fresh
}

async function converse(tools: readonly Fields[], mode: 'off' | 'shelve', wire: UpstreamWire): Promise<Cost> {
  const seen: ObservedRequest[] = []
  const upstream = createScriptUpstream({
    script: script(wire === 'native' ? 'current' : 'old'),
    wire,
    onRequest: (request) => seen.push(request),
  })
  const { gateway, ask } = speaker(upstream, mode)
  const messages: Fields[] = []
  let calls = 0
  for (let turn = 0; turn < TURNS; turn++) {
    const { name } = tools[Math.floor(((turn % USED) * tools.length) / USED)]!
    messages.push({ role: 'user', content: `Please use ${name}` })
    for (let isCalling = true; isCalling; ) {
      const { content } = await ask(gateway, {
        model: 'bench',
        max_tokens: 1000,
        system: SYSTEM,
        tools,
        messages,
      })
      messages.push({ role: 'assistant', content })
      const results = content.flatMap(({ type, id }) =>
        type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: id, content: RESULT }] : [],
      )
      calls += content.filter((block) => block.type === 'tool_use' && block.name === name).length
      isCalling = results.length > 0
      if (isCalling) messages.push({ role: 'user', content: results })
    }
  }
  return { ...cached(seen), calls }
}

function speaker(upstream: ReturnType<typeof createScriptUpstream>, mode: string) {
  const gateway = createMessagesGateway({
    upstream,
    rankers: { own: rankers.hybrid, bm25: rankers.hybrid, regex: rankers.regex },
    keep: [],
    notify: (message) => console.warn(`bench messages: ${message}`),
  })
  const asked = {
    setting: parseModeSetting(mode)!,
    call: { headers: {}, signal: new AbortController().signal },
    owner: 'bench',
  }
  const ask = async (to: typeof gateway, request: MessagesRequest): Promise<{ content: Fields[] }> => {
    const { sampled } = await to.reply(structuredClone(request), asked)
    if (!sampled || 'refused' in sampled)
      throw new Error(`bench messages: the offline model refused: ${sampled?.refused.body}`)
    const collector = createCollector()
    for await (const event of sampled.events) collector.add(event)
    return collector.message() as { content: Fields[] }
  }
  return { gateway, ask }
}

/** Returns how much of each request is a prefix that it shares with the one before it. */
function cached(seen: readonly ObservedRequest[]): Omit<Cost, 'calls'> {
  let kept = 0
  let extended = 0
  for (const [index, { segments }] of seen.entries()) {
    const previous = seen[index - 1]?.segments ?? []
    const check = extendsPrefix(previous, segments)
    if (check.extends && index > 0) extended++
    kept += tokensOf(segments.slice(0, check.extends ? previous.length : check.at))
  }
  const tokens = seen.reduce((sum, { segments }) => sum + tokensOf(segments), 0)
  return { requests: seen.length, extended, tokens, kept }
}

function tokensOf(segments: readonly PromptSegment[]): number {
  return segments.reduce((sum, { text }) => sum + text.length, 0) / CHARACTERS_PER_TOKEN
}
