// The offline model of the examples: a real Messages API on loopback that checks each request as the API would, and
// answers from a script (docs/script.md). No key, no network.
import { createAgentMeter } from '@toolshelf/agent'
import { rankers, type Shelf } from '@toolshelf/core'
import { createMessagesGateway, createScriptUpstream, type ObservedRequest } from '@toolshelf/messages'
import { readScript } from '@toolshelf/messages/internal'
// No package has it yet; your own program starts `toolshelf serve --upstream script:<file>`.
import { createMessagesMetrics } from '../packages/cli/src/http/messages/metrics.ts'
import { serveMessagesGateway } from '../packages/cli/src/http/messages/server.ts'

export type OfflineModel = {
  readonly url: string
  /** The requests as they came, and what was done with each. */
  readonly seen: readonly ObservedRequest[]
  /** What the tools of this shelf cost in these requests, and what they would have cost without it. */
  saved(shelf: Shelf): string
  close(): Promise<void>
}

export const task =
  'The nightly build and the nightly tests failed. File an issue for each, and tell #dev on Slack.'

/** What the script does for the task: each call is searched for where the model does not see its tool. */
export const steps = [
  {
    call: 'mcp__github__create_issue',
    input: { repository: 'shop', title: 'Nightly build failed' },
    search: 'github create issue',
  },
  { call: 'mcp__github__create_issue', input: { repository: 'shop', title: 'Nightly tests failed' } },
  {
    call: 'mcp__slack__create_message',
    input: { workspace: 'shop', channel: '#dev', text: 'Two issues are filed.' },
    search: '+slack create message',
  },
  { say: 'Done: both issues are filed and #dev knows.' },
] as const

/** Returns what a model does that searches for each tool once and then keeps it. */
export const expectedDeeds = [
  'calls ToolSearch',
  'calls mcp__github__create_issue',
  'calls mcp__github__create_issue',
  'calls ToolSearch',
  'calls mcp__slack__create_message',
  'says its piece (end_turn)',
]

export async function startOfflineModel(script: object = { rules: [{ do: steps }] }): Promise<OfflineModel> {
  const seen: ObservedRequest[] = []
  const gateway = createMessagesGateway({
    upstream: createScriptUpstream({
      script: readScript(script),
      wire: 'native',
      onRequest: (one) => seen.push(one),
    }),
    rankers: { own: rankers.hybrid, bm25: rankers.bm25, regex: rankers.regex },
    keep: [],
    notify: console.warn,
  })
  const setting = { mode: 'emulate', share: 100 } as const
  const { url, close } = await serveMessagesGateway({
    gateway,
    setting,
    metrics: createMessagesMetrics(),
    port: 0,
  })
  return { url, seen, saved: (shelf) => saved(seen, shelf), close }
}

function saved(seen: readonly ObservedRequest[], shelf: Shelf): string {
  const meter = createAgentMeter({ shelf })
  for (const { request, tokens, action } of seen) {
    const content = action === 'calls ToolSearch' ? [{ type: 'tool_use', name: 'ToolSearch' }] : []
    const usage = { input: tokens, cached: 0, output: 0 }
    meter.follow({ type: 'request', sent: { request, decision: undefined as never, loaded: [] } })
    meter.follow({ type: 'reply', content, usage, stopReason: '' })
  }
  return savedLine({ tools: shelf.tools().length, ...meter.figures() })
}

export type Figures = {
  readonly tools: number
  readonly rounds: number
  readonly extraRoundTrips: number
  readonly tokensWith: number
  readonly tokensWithout: number
}

export function savedLine({ tools, rounds, extraRoundTrips, tokensWith, tokensWithout }: Figures): string {
  const share = Math.round(100 * (1 - tokensWith / tokensWithout))
  return `${tools} tools, ${rounds} requests, ${extraRoundTrips} of them to search. Input tokens: ${tokensWithout} without Toolshelf, ${tokensWith} with it, ${share} % saved. A script spoke in place of a model.`
}
