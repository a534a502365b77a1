// Refusals of every kind in every sampling of a reply: what is sent again, after which wait, and what the client gets; and
// what the usage of several samplings adds up to.
import { expect, it } from 'vitest'
import type { Fields } from '../../src/lib/index.ts'
import type { HttpAnswer, MessagesRequest } from '../../src/messages/index.ts'
import { text, tool, user } from '../oracle/requests.ts'
import { modelOf, replyOf, searching } from './support/played-model.ts'

const answer = (status: number, message: string, headers: { [name: string]: string } = {}): HttpAnswer => ({
  ...{ status, headers, body: JSON.stringify({ type: 'error', error: { type: 'x', message } }) },
})
const refusals: readonly HttpAnswer[] = [
  answer(400, 'tools.0.strict: Extra inputs are not permitted'),
  answer(422, 'unknown field: strict'),
  answer(400, 'unrecognised: something'),
  answer(400, 'strict is wrong'),
  answer(500, 'strict is not supported'),
  answer(429, 'slow down'),
  answer(429, 'slow down', { 'retry-after': '2' }),
  answer(503, 'later', { 'retry-after': '31' }),
  answer(529, 'busy', { 'retry-after-ms': '1500', 'x-should-retry': 'true' }),
  answer(529, 'busy', { 'retry-after': 'soon' }),
  answer(529, 'busy', { 'retry-after': new Date(0).toUTCString() }),
  answer(429, 'never', { 'x-should-retry': 'false' }),
  answer(404, 'no such model'),
]
/** A field that an old API does not know is sent only where the refusal is about it. */
const isStrict = ({ body }: HttpAnswer) => body.includes('strict')
const toolsFor = (refused: HttpAnswer) =>
  ['Read', 'mcp__mail__send', 'mcp__mail__list'].map((name) =>
    tool(name, isStrict(refused) ? { strict: true } : {}),
  )
const usages: readonly Fields[] = [
  {
    input_tokens: 10,
    output_tokens: 1,
    cache_read_input_tokens: 3,
    server_tool_use: { web_search_requests: 1 },
    service_tier: 'standard',
    list: [1],
  },
  {
    input_tokens: 20,
    output_tokens: 2,
    cache_read_input_tokens: null,
    server_tool_use: { web_search_requests: 2, other: 1 },
    service_tier: 'priority',
    list: [2],
  },
  { input_tokens: 40, output_tokens: 4 },
]

/** What happens where the refusal comes in place of this sampling, this often. */
async function played(
  refused: HttpAnswer,
  at: number,
  times: number,
  wire: 'append' | 'native',
): Promise<string> {
  const waits: number[] = []
  let left = times
  let said = 0
  const model = modelOf(
    () => {
      if (said + 1 === at && left-- > 0) return { refused }
      said++
      return said < 3
        ? {
            content: [searching(['mail send', 'mail list'][said - 1]!, `toolu_${said}`)],
            usage: usages[said - 1]!,
          }
        : { content: [text('Done.')], usage: usages[2]! }
    },
    { wire },
  )
  const request = {
    model: 'claude-sonnet-5',
    max_tokens: 100,
    tools: toolsFor(refused),
    messages: [user(text('go'))],
  }
  const outcome = await replyOf(
    model.upstream,
    request,
    'shelve',
    async (milliseconds) => void waits.push(milliseconds),
  ).then(
    ({ content, usage, stop_reason }) => JSON.stringify({ content, stop_reason, usage }),
    (error: Error) => error.message.slice(0, 120),
  )
  const strict = model.requests.map((sent: MessagesRequest) =>
    JSON.stringify(sent.tools).includes('"strict"') ? 's' : '-',
  )
  return `${wire} at ${at}, ${times} times: sent ${strict.join('')}, waited ${waits.map((wait) => Math.round(wait / 100) / 10)}; ${outcome}`
}

it.each(['append', 'native'] as const)(
  'a refusal in any sampling is waited out, worked around or passed on: %s',
  async (wire) => {
    const lines: string[] = []
    for (const refused of refusals) {
      lines.push(
        `${refused.status} ${JSON.stringify(refused.headers).replace(/"[^"]*1970[^"]*"/, '"long ago"')} ${refused.body}`,
      )
      const places =
        isStrict(refused) && wire === 'append'
          ? [[1, 1] as const]
          : ([
              [1, 1],
              [2, 1],
              [3, 5],
            ] as const)
      for (const [at, times] of places) lines.push(`  ${await played(refused, at, times, wire)}`)
    }
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(`./conversations/refusals-${wire}.txt`)
  },
)
