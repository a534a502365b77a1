// The law of the gateway: a client sees what it would have seen without one, whatever the API, the mode and the model; and
// what it sends again is enough for any other process to go on.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs, seedOr } from '../../../packages/testkit/src/runs.ts'
import type { Loose } from '../../../packages/testkit/src/talk.ts'
import { extendsPrefix, renderRequest, validateRequest } from '../../doors.ts'
import type { Api } from './clients.ts'
import { anySetup, converse, type Exchange, type Setup, sentByAnother } from './conversation.ts'
import { isOld, upstreams, wires } from './gateways.ts'
import {
  anyScript,
  type Block,
  blocksOf,
  calledIn,
  carriedScript,
  joined,
  loadedIn,
  NAMES,
  type Script,
  SEARCH,
  shownOf,
} from './model.ts'

const seed = seedOr(20261119)
const numRuns = runs(16)
const parameters = { seed, numRuns, ...(process.env.PROPERTY_SHRINK === 'off' ? { endOnFailure: true } : {}) }
const apis: readonly Api[] = ['messages', 'chat', 'responses']

function holds(
  setup: fc.Arbitrary<Setup>,
  check: (exchanges: readonly Exchange[], setup: Setup) => unknown,
  script: fc.Arbitrary<Script> = anyScript,
): Promise<void> {
  const property = fc.asyncProperty(setup, script, async (one, bits) => {
    const { exchanges } = await converse(one, bits)
    await check(exchanges, one)
  })
  return fc.assert(property, parameters)
}

/** Messages clients whose tools are shelved, in front of a model in this process. */
const shelving = (more: Partial<Setup> = {}): fc.Arbitrary<Setup> =>
  fc
    .constantFrom(...wires)
    .chain((wire) => anySetup('messages', wire))
    .map((setup) => ({ ...setup, mode: 'shelve' as const, ...more }))

/** What every client can see of a reply: thinking only where the API has it, and calls behind the words where it has no order. */
function comparable(blocks: readonly Block[], { api, upstream }: Setup): Block[] {
  const thinks = api === 'messages' && upstream !== 'chat' && upstream !== 'responses'
  const seen = blocks.filter((block) => thinks || !('thinking' in block))
  if (api !== 'chat' && upstream !== 'chat') return joined(seen)
  return joined([...seen.filter((block) => !('call' in block)), ...seen.filter((block) => 'call' in block)])
}

describe(`the law of the gateway (PROPERTY_SEED=${seed} PROPERTY_RUNS=${numRuns})`, () => {
  for (const api of apis)
    it.each(upstreams)(
      `wire 24 27 29 a client of ${api} sees what the model said, and no search, before %s`,
      (kind) =>
        holds(anySetup(api, kind), (exchanges, setup) => {
          for (const { reply, samplings } of exchanges) {
            const { blocks, ...rest } = shownOf(samplings)
            const { stop, usage } = reply
            expect({ blocks: comparable(reply.blocks, setup), stop, usage }).toEqual({
              blocks: comparable(blocks, setup),
              ...rest,
            })
            if (setup.mode === 'emulate') continue
            const words = ['ToolSearch', 'tool_reference', 'select:', 'CallTool', 'defer_loading', 'zzzqqq']
            expect(words.filter((word) => reply.raw.includes(word))).toEqual([])
          }
        }),
    )

  it('wire 28 30 a client that searches itself can send every reply back', () =>
    holds(shelving({ mode: 'emulate' }), (exchanges) => {
      for (const { request } of exchanges) expect(validateRequest(request)).toBeUndefined()
    }))

  it('wire 30 39 the client cannot distinguish the wires', () =>
    fc.assert(
      fc.asyncProperty(
        shelving({ stream: false }),
        fc.constantFrom('shelve', 'emulate'),
        anyScript,
        async (setup, mode, script) => {
          const replies = async (upstream: (typeof wires)[number]) => {
            const { exchanges } = await converse({ ...setup, mode: mode as 'shelve', upstream }, script)
            return exchanges.map(({ reply: { raw } }) =>
              raw.replaceAll(/"(request_id|id)":"(req|msg)_\w+"/g, ''),
            )
          }
          const native = await replies('native')
          expect(await replies('append')).toEqual(native)
          expect(await replies('bridge')).toEqual(native)
        },
      ),
      parameters,
    ))

  it('wire 24 29 the stream and the whole reply are one', () =>
    fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...apis).chain((api) => anySetup(api, 'append')),
        anyScript,
        async (setup, script) => {
          const replies = async (stream: boolean) => {
            const { exchanges } = await converse({ ...setup, stream }, script)
            return exchanges.map(({ reply: { blocks, stop, usage } }) => ({ blocks, stop, usage }))
          }
          expect(await replies(true)).toEqual(await replies(false))
        },
      ),
      parameters,
    ))

  it('another process sends the same bytes for the same history, where calls follow the searches', () =>
    holds(
      shelving({ restarts: [] }),
      async (exchanges, setup) => {
        for (const { request, samplings } of exchanges)
          expect(JSON.stringify(await sentByAnother(setup, request))).toBe(
            JSON.stringify(samplings[0]?.request),
          )
      },
      carriedScript,
    ))

  it.each(apis)('another process never loses a tool that a client of %s called', (api) =>
    holds(
      anySetup(api, 'append').map((setup) => ({ ...setup, mode: 'shelve' as const, restarts: [true] })),
      (exchanges, { count }) => {
        const called = new Set<string>()
        for (const { samplings, reply } of exchanges) {
          const loaded = loadedIn(samplings[0]?.request)
          expect([...called].filter((name) => !loaded.includes(name))).toEqual([])
          for (const { name } of reply.calls) if (NAMES.slice(0, count).includes(name)) called.add(name)
        }
      },
    ),
  )

  it('what is loaded stays loaded while the process lives, called or not; what was called is in sight', () =>
    holds(shelving({ restarts: [] }), (exchanges, { count }) => {
      const known = NAMES.slice(0, count)
      for (const [index, { samplings, request }] of exchanges.entries()) {
        const called = calledIn(request).filter((name) => known.includes(name))
        const before = exchanges[index - 1]
        const kept = before?.reply.blocks.some((block) => !('thinking' in block))
        const loaded = kept ? loadedIn(before?.samplings.at(-1)?.request) : []
        expect(loadedIn(samplings[0]?.request)).toEqual(expect.arrayContaining([...loaded, ...called]))
      }
    }))

  it('tools that come and go are loaded and called only while they are there', () =>
    holds(
      shelving().map((setup) => ({ ...setup, others: setup.count === 5 ? 60 : 5 })),
      (exchanges) => {
        for (const { request, samplings } of exchanges) {
          const names = request.tools.map(({ name }: Loose) => name)
          for (const one of samplings) expect(names).toEqual(expect.arrayContaining(loadedIn(one.request)))
        }
      },
    ))

  it('wire 39 what was sent stays, across rounds and turns, but for searches that found nothing', () =>
    holds(
      shelving({ upstream: 'native', restarts: [], thinks: false }).filter(
        ({ habit }) => habit !== 'drops thinking',
      ),
      (exchanges) => {
        let before: Loose
        for (const { samplings } of exchanges)
          for (const [index, { request }] of samplings.entries()) {
            if (before && !(index === 0 && hasVainSearch(before)))
              expect(extendsPrefix(renderRequest(before), renderRequest(request))).toEqual({ extends: true })
            before = request
          }
      },
    ))

  it.each(['append', 'bridge'] as const)(
    'wire 14 39 what was sent on %s stays, too, and tools only join',
    (upstream) =>
      holds(shelving({ upstream, restarts: [], thinks: false, habit: 'none' }), (exchanges) => {
        let before: Loose
        for (const { samplings } of exchanges)
          for (const [index, { request }] of samplings.entries()) {
            if (before && !(index === 0 && hasVainSearch(before)))
              for (const part of ['tools', 'messages'])
                expect(request[part].slice(0, before[part].length)).toEqual(before[part])
            before = request
          }
      }),
  )

  it('wire 44 thoughts stay bound to what they followed, but for searches that found nothing', () =>
    holds(
      shelving({
        upstream: 'native',
        restarts: [],
        thinks: true,
        bindsThinking: true,
        count: 60,
        habit: 'none',
      }),
      (exchanges) => {
        const all = exchanges.flatMap(({ samplings }) => samplings)
        for (const { request, headers } of all) {
          expect(request.thinking.block_binding).toEqual({ prefix_mismatch_behavior: 'drop_block' })
          expect(headers['anthropic-beta']).toContain('thinking')
          const { block_binding: _, ...thinking } = request.thinking
          if (all.some((one) => hasVainSearch(one.request))) continue
          expect(validateRequest({ ...request, thinking }, { bindsThinking: true })).toBeUndefined()
        }
      },
      anyScript.map((script) => script.map((bits) => bits.filter(({ kind }) => kind !== 'think'))),
    ))

  it('thinking by hand: the last reply starts with a thought where it calls tools, as each sampling did', () =>
    holds(
      shelving({ thinks: true }).filter(({ habit }) => habit !== 'drops thinking'),
      (exchanges) => {
        for (const { request } of exchanges.flatMap(({ samplings }) => samplings)) {
          const last = request.messages.findLast(({ role }: Loose) => role === 'assistant')
          const blocks = blocksOf(last?.content)
          if (blocks.some(({ type }) => type === 'tool_use')) expect(blocks[0]?.type).toBe('thinking')
        }
      },
    ))

  it("the client's words, calls and results are all there, once and in order", () =>
    holds(shelving({ upstream: 'native', habit: 'none', thinks: false }), (exchanges) => {
      for (const { request, samplings } of exchanges)
        expect(ownBlocks(samplings[0]?.request)).toEqual(request.messages.flatMap(ownOf))
    }))

  it('two who say the same do not share what was loaded', () =>
    holds(shelving({ restarts: [], habit: 'none' }), async (exchanges, setup) => {
      for (const { request } of exchanges.slice(1)) {
        const uncarried = JSON.parse(JSON.stringify(request).replaceAll(/__shelf_[\w-]*/g, ''))
        const loaded = loadedIn(await sentByAnother(setup, uncarried))
        expect(loaded.filter((name) => name !== 'Read' && !calledIn(request).includes(name))).toEqual([])
      }
    }))

  it('an old API is never told of deferral, and no other API of the gateway itself', () =>
    holds(
      fc.constantFrom(...upstreams.filter(isOld)).chain((kind) => anySetup('messages', kind)),
      (exchanges) => {
        const words = /defer_loading|tool_reference|server_tool_use|tool_search_tool_result|"caller"|__shelf_/
        for (const { request } of exchanges.flatMap(({ samplings }) => samplings))
          expect(JSON.stringify(request)).not.toMatch(words)
      },
    ))
})

/** Whether a request has a search without references in its result. */
function hasVainSearch({ messages }: Loose): boolean {
  const blocks: Loose[] = messages.flatMap(({ content }: Loose) => blocksOf(content))
  const found = blocks
    .filter(({ type, content }) => type === 'tool_result' && /tool_reference/.test(JSON.stringify(content)))
    .map(({ tool_use_id: id }) => id)
  return blocks.some(({ name, id }) => name === 'ToolSearch' && !found.includes(id))
}

/** The blocks of a request that the client sent: without the note of names, searches, what they found, and carried ids. */
function ownBlocks({ messages }: Loose): Loose[] {
  const searches = messages
    .flatMap(({ content }: Loose) => blocksOf(content))
    .filter(({ name }: Loose) => SEARCH.test(name))
    .map(({ id }: Loose) => id)
  return messages
    .slice(1)
    .filter(({ content }: Loose) => !blocksOf(content).some(({ tool_use_id: id }) => searches.includes(id)))
    .flatMap(ownOf)
    .filter(({ name }: Loose) => !SEARCH.test(name))
}

function ownOf({ content }: Loose): Loose[] {
  const plain = JSON.stringify(blocksOf(content)).replaceAll(/__shelf_[\w-]*/g, '')
  return JSON.parse(plain)
}
