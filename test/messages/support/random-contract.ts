// Random conversations of the contract, as plain data that fast-check makes and shrinks: deferred tools, searches of
// the client's and of the API's own, additions, removals, compactions, and calls between them.
import fc from 'fast-check'
import type { Fields } from '../../../src/lib/json.ts'
import type { MessagesRequest } from '../../../src/messages/types.ts'
import {
  assistant,
  deferred,
  found,
  type Json,
  reference,
  result,
  search,
  system,
  text,
  tool,
  use,
  user,
} from '../../oracle/requests.ts'

export const BETAS = ['inline-tools-2026-09-15']
export const IMMEDIATE = ['always', 'read']
export const DEFERRED = ['mail_send', 'mail_list', 'issue_open', 'issue_close', 'chart_draw', 'room_book']
const INLINE = ['inline_one', 'inline_two']
const HOSTED = ['tool_search_tool_regex', 'tool_search_tool_bm25']

export type Move =
  | { readonly kind: 'say' | 'think'; readonly isText: boolean }
  | { readonly kind: 'search'; readonly names: readonly string[]; readonly beside: boolean }
  | { readonly kind: 'call'; readonly names: readonly string[]; readonly isSpread: boolean }
  | { readonly kind: 'hosted'; readonly searches: readonly Searched[]; readonly order: Order }
  | {
      readonly kind: 'parallel'
      readonly searches: readonly Searched[]
      readonly isFirst: boolean
      readonly remarks: number
      readonly isReminded: boolean
    }
  | {
      readonly kind: 'change'
      readonly changes: readonly Change[]
      readonly note: 'none' | 'kept' | 'cleared'
    }
  | { readonly kind: 'compact'; readonly changes: readonly Change[]; readonly isUser: boolean }

/** What a hosted search finds; undefined is an error. */
type Searched = readonly string[] | undefined
/** Each result after its search, all results after all searches, or words between the results. */
type Order = 'each' | 'together' | 'words'
type Change = { readonly kind: 'add' | 'remove' | 'value'; readonly name: string; readonly edition: number }

const names = fc.subarray(DEFERRED, { maxLength: 3 })
const searched = fc.option(names, { nil: undefined, freq: 4 })
const searches = fc.array(searched, { minLength: 1, maxLength: 3 })
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('add', 'remove'),
    name: fc.constantFrom(...DEFERRED, ...IMMEDIATE),
    edition: fc.constant(0),
  }),
  fc.record({
    kind: fc.constant('value' as const),
    name: fc.constantFrom(...INLINE, ...DEFERRED.slice(0, 1), 'read'),
    edition: fc.nat(1),
  }),
) as fc.Arbitrary<Change>
const changes = fc.array(change, { maxLength: 3 })
const kind = <Name extends string>(name: Name) => fc.constant(name)

export const anyMove: fc.Arbitrary<Move> = fc.oneof(
  fc.record({ kind: fc.constantFrom('say', 'think'), isText: fc.boolean() }),
  fc.record({ kind: kind('search'), names, beside: fc.boolean() }),
  fc.record({
    kind: kind('call'),
    names: fc.subarray([...DEFERRED, 'read', 'unknown'], { minLength: 1, maxLength: 3 }),
    isSpread: fc.boolean(),
  }),
  fc.record({ kind: kind('hosted'), searches, order: fc.constantFrom('each', 'together', 'words') }),
  fc.record({
    kind: kind('parallel'),
    searches,
    isFirst: fc.boolean(),
    remarks: fc.nat(2),
    isReminded: fc.boolean(),
  }),
  fc.record({
    kind: kind('change'),
    changes,
    note: fc.constantFrom('none', 'kept', 'cleared'),
  }),
  fc.record({ kind: kind('compact'), changes, isUser: fc.boolean() }),
) as fc.Arbitrary<Move>

export type Setup = {
  readonly deferred: readonly string[]
  readonly hosted: readonly string[]
  readonly isMarked: boolean
}

/** Deferred tools in either order, with or without the API's own searches and a breakpoint. */
export const anySetup: fc.Arbitrary<Setup> = fc.record({
  deferred: fc.constantFrom(DEFERRED, DEFERRED, DEFERRED.toReversed()),
  hosted: fc.subarray(HOSTED),
  isMarked: fc.boolean(),
})

export function toolsOf({ deferred: waiting, hosted, isMarked }: Setup): Fields[] {
  const mark = isMarked ? { cache_control: { type: 'ephemeral' } } : {}
  return [
    ...IMMEDIATE.map((name) => tool(name)),
    ...hosted.map((name) => ({ type: `${name}_20251119`, name, ...mark })),
    ...waiting.map((name) => deferred(name, { input_examples: [{ [`${name}_key`]: 'x' }], strict: true })),
  ]
}

/** The requests of a conversation, one for each sampling, each the longer history. */
export function requestsOf(setup: Setup, moves: readonly Move[]): MessagesRequest[] {
  const messages: Json[] = []
  const cuts: Json[][] = []
  let ids = 0
  const next = (kind: string) => `${kind}_${++ids}`
  const sample = () => cuts.push([...messages])

  for (const move of moves) {
    messages.push(...opened(move, next('w')))
    if (move.kind === 'change') messages.push(...changed(move))
    sample()
    switch (move.kind) {
      case 'say':
        messages.push(move.isText ? { role: 'assistant', content: 'Well.' } : assistant(text('Well.')))
        break
      case 'think':
        messages.push(assistant({ type: 'thinking', thinking: 'Hm.', signature: 's' }, text('Well.')))
        break
      case 'change':
        messages.push(assistant(text('So be it.')))
        break
      case 'search':
        searchByClient(move)
        break
      case 'call':
        callAll(move)
        break
      case 'hosted':
        messages.push(assistant(text('I look.'), ...searchedBlocks(move), text('Found.')))
        break
      case 'parallel':
        searchBeside(move)
        break
      case 'compact':
        messages.push(move.isUser ? assistant(text('Summed up.')) : assistant(compaction(move), text('On.')))
    }
  }
  messages.push(user(text('Last words.')))
  sample()
  return cuts.map((cut) => ({ model: 'any', max_tokens: 16, tools: toolsOf(setup), messages: cut }))

  function searchByClient({ names, beside }: Move & { kind: 'search' }): void {
    const [id, other] = [next('toolu'), next('toolu')]
    messages.push(
      assistant(
        { ...use(id, 'ToolSearch'), caller: { type: 'direct' } },
        ...(beside ? [use(other, 'read')] : []),
      ),
    )
    const content = names.length > 0 ? names.map((name) => reference(name)) : 'Nothing.'
    messages.push(
      user(
        result(id, content, names.length > 0 ? {} : { is_error: true }),
        ...(beside ? [result(other), text('Tool loaded.')] : []),
      ),
    )
    sample()
    messages.push(assistant(text('I have them.')))
  }

  function callAll({ names, isSpread }: Move & { kind: 'call' }): void {
    const calls: Json[] = names.map((name) => ({ ...use(next('toolu'), name), caller: { type: 'direct' } }))
    messages.push(assistant(...calls))
    const results = calls.map(({ id }) => result(String(id)))
    messages.push(...(isSpread ? results.map((one) => user(one)) : [user(...results)]))
    sample()
    messages.push(assistant(text('Done.')))
  }

  function searchedBlocks({ searches, order }: Move & { kind: 'hosted' }): Json[] {
    const pairs = searches.map((names) => {
      const id = next('srvtoolu')
      return [{ ...search(id), caller: { type: 'direct' } }, outcome(id, names)] as const
    })
    if (order === 'each') return pairs.flat()
    const calls = pairs.map(([call]) => call)
    const results = pairs.map(([, one]) => one)
    return [...calls, ...(order === 'words' ? results.flatMap((one) => [one, text('And?')]) : results)]
  }

  function searchBeside(move: Move & { kind: 'parallel' }): void {
    const { searches, isFirst, remarks, isReminded } = move
    const call = next('toolu')
    const asked = searches.map((names) => [next('srvtoolu'), names] as const)
    const both = asked.map(([id]) => search(id))
    const own = use(call, 'read')
    messages.push(assistant(...(isFirst ? [...both, own] : [own, ...both])))
    messages.push(user(result(call), ...(remarks > 0 ? [text('A remark.')] : [])))
    if (remarks > 1) messages.push(user(text('Another.')))
    if (isReminded) messages.push(system(text('Be brief.')))
    const results = asked.map(([id, names]) => outcome(id, names))
    messages.push(assistant(...results))
    sample()
    messages.pop()
    messages.push(assistant(...results, text('Both are done.')))
  }
}

function opened(move: Move, word: string): Json[] {
  if (move.kind === 'compact' && move.isUser) return [user(compaction(move), text(word))]
  return [move.kind === 'say' && move.isText ? { role: 'user', content: word } : user(text(word))]
}

function outcome(id: string, names: Searched): Json {
  if (names) return found(id, ...names)
  const content = {
    type: 'tool_search_tool_result_error',
    error_code: 'invalid_tool_input',
    error_message: null,
  }
  return { type: 'tool_search_tool_result', tool_use_id: id, content }
}

function changed({ changes, note }: Move & { kind: 'change' }): Json[] {
  const blocks = [...changes.map(changeBlock), ...(note === 'none' ? [] : [text('The host speaks.')])]
  if (blocks.length === 0) return []
  // Only text may be cleared.
  return note === 'cleared'
    ? [{ ...system(text('The host speaks.')), clear_at: 'next_user_message' }]
    : [system(...blocks)]
}

function changeBlock({ kind, name, edition }: Change): Json {
  if (kind !== 'value')
    return {
      type: kind === 'add' ? 'tool_addition' : 'tool_removal',
      tool: { type: 'tool_reference', name },
    }
  const definition = tool(name, { description: `does ${name}, edition ${edition}` })
  return { type: 'tool_addition', tool: { type: 'tool_definition', definition } }
}

function compaction({ changes }: Move & { kind: 'compact' }): Json {
  return { type: 'compaction', content: 'What happened.', tool_changes: changes.map(changeBlock) }
}
