// What must hold for every conversation: on any wire the model sees the tools that the native contract shows, and
// nothing that was sent changes later without need.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { extendsPrefix } from '../../src/core/oracle/prefix.ts'
import { renderRequest, visibleTools } from '../../src/core/oracle/render.ts'
import { blocksOf } from '../../src/core/oracle/turns.ts'
import { walkRequest } from '../../src/core/oracle/walk.ts'
import type { Fields } from '../../src/lib/json.ts'
import { fieldsOf } from '../../src/lib/json.ts'
import { CALL_TOOL } from '../../src/lib/names.ts'
import type { MessagesRequest } from '../../src/messages/types.ts'
import { lower } from '../../src/messages/wire/lower.ts'
import { refusal } from '../oracle/requests.ts'
import { runs, seedOr } from '../support/runs.ts'
import { anyMove, anySetup, BETAS, DEFERRED, requestsOf } from './support/random-contract.ts'

const numRuns = runs(8)
const seed = seedOr(20261116)
const parameters = { seed, numRuns }
const PLAIN_WIRES = ['append', 'bridge'] as const

const someMoves = fc.array(anyMove, { maxLength: 7, size: 'max' })

type PlainWire = (typeof PLAIN_WIRES)[number]

/** Holds for each request of any conversation, on each wire, with the request before it. */
function always(
  check: (now: MessagesRequest, wire: PlainWire, before: MessagesRequest | undefined) => void,
): void {
  fc.assert(
    fc.property(anySetup, someMoves, (setup, moves) => {
      const requests = requestsOf(setup, moves)
      for (const [index, request] of requests.entries())
        for (const wire of PLAIN_WIRES) check(request, wire, requests[index - 1])
    }),
    parameters,
  )
}

const namesOf = (tools: readonly Fields[] = []) => tools.map(({ name }) => String(name))
const json = (value: unknown) => JSON.stringify(value)
const jsonLines = (items: readonly unknown[]) => items.map(json)

/** Definitions that are lines of JSON in the messages, the latest of each name. */
function described({ messages }: MessagesRequest): Map<string, string> {
  const texts = messages.flatMap(({ content }) => blocksOf(content)).flatMap(textsOf)
  const lines = texts.flatMap((one) => one.split('\n')).filter((line) => line.startsWith('{'))
  return new Map(lines.map((line) => [String(JSON.parse(line).name), line]))
}

function textsOf(block: Fields): string[] {
  if (block.type === 'text') return [String(block.text)]
  return block.type === 'tool_result' ? blocksOf(block.content).flatMap(textsOf) : []
}

describe(`lowering (PROPERTY_SEED=${seed} PROPERTY_RUNS=${numRuns})`, () => {
  it('the conversations are valid ones of the contract', () => {
    always((request) => expect(refusal(request, { betas: BETAS })).toBeUndefined())
  })

  it('wire 39 an API from before tool search accepts every request', () => {
    always((request, wire) => expect(refusal(lower(request, wire), { isOldProxy: true })).toBeUndefined())
  })

  it('wire 13 append: the tools are those in sight, in the order they came into it', () => {
    always((request) => {
      expect(namesOf(lower(request, 'append').tools)).toEqual(visibleTools(request))
    })
  })

  it('wire 13 bridge: sends tools in sight from the start as tools, and the others as text in their own definition', () => {
    always((request) => {
      const { steps, visible } = walkRequest(request)
      const lowered = lower(request, 'bridge')
      const start = new Set(namesOf(request.tools?.filter((tool) => !tool.defer_loading)))
      const inSight = namesOf(lowered.tools).filter((name) => name !== CALL_TOOL)
      expect(inSight).toEqual([...visible.keys()].filter((name) => start.has(name)))
      const revealed = new Map(
        steps
          .flatMap((step) => step.revealed)
          .filter(({ name }) => !start.has(name))
          .map(({ name, definition }) => [name, definition]),
      )
      expect(new Map(described(lowered))).toEqual(revealed)
      for (const [name, definition] of visible)
        if (!start.has(name)) expect(described(lowered).get(name)).toBe(definition)
    })
  })

  it('bridge: what joined is called through one constant tool, in the history, too', () => {
    always((request, wire) => {
      if (wire !== 'bridge') return
      const { tools, messages } = lower(request, wire)
      expect(namesOf(tools)[0]).toBe(CALL_TOOL)
      const calls = (all: readonly Fields[]) =>
        all.flatMap(({ content }) => blocksOf(content)).filter(({ type }) => type === 'tool_use')
      const meant = calls(messages).map(({ name, input }) =>
        name === CALL_TOOL ? `through ${fieldsOf(input).name}` : name,
      )
      const through = (name: unknown) => (DEFERRED.includes(String(name)) ? `through ${name}` : name)
      const given = calls(request.messages).map(({ name }) => through(name))
      expect(meant.filter((name) => !String(name).startsWith('tool_search_tool_'))).toEqual(given)
    })
  })

  it('wire 40 no word of deferral is left', () => {
    const words = [
      ...['defer_loading', 'tool_reference', 'server_tool_use', 'tool_search_tool_result', '"caller"'],
      ...['tool_addition', 'tool_removal', 'tool_changes', 'clear_at', '"compaction"', '20251119'],
    ]
    always((request, wire) => {
      const bytes = json(lower(request, wire))
      expect(words.filter((word) => bytes.includes(word))).toEqual([])
    })
  })

  it('wire 12 15 tools that nothing refers to add no byte, in whatever order', () => {
    always((request, wire) => {
      const said = json(request.messages)
      const isIdle = (name: unknown) => DEFERRED.includes(String(name)) && !said.includes(`"${name}"`)
      const idle = namesOf(request.tools).filter(isIdle)
      const bytes = json(lower(request, wire))
      expect(idle.filter((name) => bytes.includes(name))).toEqual([])
      const tools = request.tools?.toReversed().toSorted((a, b) => orderOf(a) - orderOf(b)) ?? []
      expect(json(lower({ ...request, tools }, wire))).toBe(bytes)
      const fewer = tools.filter(({ name }) => !isIdle(name))
      if (wire === 'append' || fewer.some((tool) => tool.defer_loading))
        expect(json(lower({ ...request, tools: fewer }, wire))).toBe(bytes)

      function orderOf({ name, defer_loading }: Fields): number {
        return defer_loading ? 1000 : namesOf(request.tools).indexOf(String(name))
      }
    })
  })

  it('wire 39 the same request is the same bytes, and is not changed', () => {
    always((request, wire) => {
      const given = json(request)
      expect(json(lower(request, wire))).toBe(json(lower(request, wire)))
      expect(json(request)).toBe(given)
    })
  })

  it('wire 14 39 earlier messages stay as they were sent, wherever the native contract keeps them', () => {
    always((now, wire, before) => {
      if (!before || !extendsPrefix(renderRequest(before), renderRequest(now)).extends) return
      const [earlier, later] = [before, now].map((request) => lower(request, wire)) as [
        MessagesRequest,
        MessagesRequest,
      ]
      const sent = jsonLines(earlier.messages)
      expect(jsonLines(later.messages).slice(0, sent.length)).toEqual(sent)
    })
  })

  it('wire 39 append: tools join at the end, unless one is taken away or redefined', () => {
    always((now, wire, before) => {
      if (!before || wire !== 'append' || changesTools(now)) return
      const sent = jsonLines(lower(before, wire).tools ?? [])
      expect(jsonLines(lower(now, wire).tools ?? []).slice(0, sent.length)).toEqual(sent)
    })
  })

  it('wire 14 39 bridge: the tools never change, unless one of them is taken away or redefined', () => {
    always((now, wire, before) => {
      if (!before || wire !== 'bridge' || changesTools(now)) return
      expect(json(lower(now, wire).tools)).toBe(json(lower(before, wire).tools))
      if (!extendsPrefix(renderRequest(before), renderRequest(now)).extends) return
      expect(extendsPrefix(renderRequest(lower(before, wire)), renderRequest(lower(now, wire)))).toEqual({
        extends: true,
      })
    })
  })
})

function changesTools({ messages }: MessagesRequest): boolean {
  return /tool_removal|tool_definition/.test(json(messages))
}
