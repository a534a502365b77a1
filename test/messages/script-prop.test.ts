// For any script, any tools and any search: replies depend on the request alone, every request that follows is valid,
// nothing is called that is not in sight, and every turn ends.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { visibleTools } from '../../src/core/oracle/index.ts'
import type { Fields } from '../../src/lib/index.ts'
import type { MessagesRequest } from '../../src/messages/index.ts'
import { OFFLINE_NOTE } from '../../src/messages/upstream/index.ts'
import { callToolDefinition } from '../../src/messages/wire/index.ts'
import { deferred, reference, tool, user } from '../oracle/requests.ts'
import { runs } from '../support/runs.ts'
import { answered, ask, lines, messageFrom, play } from './script-talk.ts'

const NAMES = ['read', 'mcp__mail__send', 'mcp__mail__list', 'gone']
const SEARCHES = ['ToolSearch', 'tool_search_tool_bm25', 'tool_search_tool_regex']
const words = fc.constantFrom('Well.', '{{user}}', '{{result}}', 'two {{result}} words')
const anyCall = fc.record(
  {
    call: fc.constantFrom(...NAMES, '/mail/', '/{{result}}$/', 'ToolSearch'),
    input: fc.record({ value: words }),
    search: words,
  },
  { requiredKeys: ['call'] },
)
const anySearch = fc.record({ search: words })
const anyStep = fc.oneof(
  { weight: 3, arbitrary: anyCall },
  { weight: 1, arbitrary: anySearch },
  { weight: 2, arbitrary: fc.record({ say: words }) },
  fc.record({ think: words }),
  fc.record({ calls: fc.array(fc.oneof(anyCall, anySearch), { minLength: 1, maxLength: 3 }) }),
)

const anyTalk = fc.record({
  script: fc.record({
    rules: fc.array(fc.record({ do: fc.array(anyStep, { minLength: 1, maxLength: 6 }) }), {
      minLength: 1,
      maxLength: 1,
    }),
    boundThinking: fc.boolean(),
  }),
  search: fc.option(fc.constantFrom(...SEARCHES)),
  hasBridge: fc.boolean(),
  immediate: fc.subarray(NAMES.slice(0, 2)),
  results: fc.array(fc.constantFrom('', 'text', 'mail__send', 'references', 'definition'), { minLength: 1 }),
  turns: fc.integer({ min: 1, max: 2 }),
})

type Talk = typeof anyTalk extends fc.Arbitrary<infer Value> ? Value : never

/** Whether a search or a plain call, a result is what chance says: nothing, text, references, or a definition. */
function resultOf(kind: string | undefined): unknown {
  if (kind === 'references') return [reference('mcp__mail__list')]
  if (kind === 'definition') return JSON.stringify(tool('mcp__mail__list'))
  return kind ? [{ type: 'text', text: kind }] : undefined
}

function toolsOf({ search, hasBridge, immediate }: Talk): Fields[] {
  const late = NAMES.slice(0, 3).filter((name) => !immediate.includes(name))
  const first = [tool('always'), ...immediate.map((name) => tool(name))]
  return [
    ...first,
    ...(search ? [tool(search)] : []),
    ...(hasBridge ? [callToolDefinition] : []),
    ...late.map((name) => deferred(name)),
  ]
}

const MAX_REPLIES = 6 * 3 + 1

test('conversations with the offline model are valid, sighted, repeatable and finite', async () => {
  await fc.assert(
    fc.asyncProperty(anyTalk, async (given) => {
      const results = [...given.results]
      let request: MessagesRequest = ask('start', toolsOf(given))
      for (let turn = 0; turn < given.turns; turn++) {
        const said: string[] = []
        for (let replies = 0; ; replies++) {
          expect(replies).toBeLessThan(MAX_REPLIES)
          // Each reply comes from an upstream that has just started; a request that is refused throws.
          const message = await messageFrom(play(given.script), request)
          const content = message.content as Fields[]
          said.push(...lines(content))
          const called = content.filter(({ type }) => type === 'tool_use').map(({ name }) => name)
          expect(visibleTools(request)).toEqual(expect.arrayContaining(called))
          expect(JSON.stringify(await messageFrom(play(given.script), request))).toBe(JSON.stringify(message))
          if (message.stop_reason === 'end_turn') {
            const messages = [
              ...request.messages,
              { role: 'assistant', content },
              user({ type: 'text', text: 'again' }),
            ]
            request = { ...request, messages }
            break
          }
          request = answered(request, content, () =>
            resultOf(results[request.messages.length % results.length]),
          )
        }
        expect(said.filter((line) => line.includes(OFFLINE_NOTE))).toHaveLength(1)
      }
    }),
    { numRuns: runs(25) },
  )
})
