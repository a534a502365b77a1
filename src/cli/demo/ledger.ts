// What definitions cost, from the requests that were really sent: with Toolshelf, and what they would have cost without.
import { estimateTokens, SEARCH_TOOL } from '../../core/index.ts'
import { extendsPrefix, render, type Segment } from '../../core/oracle/index.ts'
import { type Fields, fieldsOf, listOf, textOf } from '../../core/oracle/json.ts'
import { blocksOf } from '../../core/oracle/turns.ts'

export type LedgerTurn = {
  readonly prompt: string
  /** All definitions in every request that would have been sent; requests that only searched would not. */
  readonly tokensWithout: number
  /** Definitions, names, reminders and searches in every request that was sent. */
  readonly tokensWith: number
  /** All that was sent. */
  readonly tokensSent: number
  readonly loaded: readonly string[]
  /** Of these, the ones that needed no search, because the message named them. */
  readonly preloaded: readonly string[]
  /** Named with the message because they may fit it. */
  readonly reminded: readonly string[]
  readonly called: readonly string[]
  readonly searches: number
  readonly requests: number
  /** Requests that began with all of the one before: what a prompt cache keeps. */
  readonly prefixKept: number
}

type Counted = 'tokensWithout' | 'tokensWith' | 'tokensSent' | 'searches' | 'requests' | 'prefixKept'

export type LedgerTotal = Pick<LedgerTurn, Counted> & {
  readonly saved: number
  /** A part of a hundred. */
  readonly savedShare: number
  readonly tools: number
  /** Of all definitions, as they would stand in each request. */
  readonly definitionTokens: number
  readonly method: string
}

export type Ledger = {
  /** A message of the person begins a turn. */
  begin(prompt: string): void
  /** A request as it is sent. */
  send(request: object): void
  /** The reply to it. */
  reply(content: readonly Fields[]): void
  /** Tools that a search found, or a message named; those that were loaded before are not loaded again. */
  load(names: readonly string[], isPreload: boolean): void
  remind(names: readonly string[]): void
  call(name: string): void
  readonly turns: readonly LedgerTurn[]
  total(): LedgerTotal
}

/** `definitions` are those of every tool there is now, as JSON. */
export function createLedger(definitions: () => readonly string[]): Ledger {
  const turns: { -readonly [Field in keyof LedgerTurn]: LedgerTurn[Field] }[] = []
  let last: readonly Segment[] | undefined
  return {
    turns,
    begin(prompt) {
      turns.push({
        prompt,
        tokensWithout: 0,
        tokensWith: 0,
        tokensSent: 0,
        loaded: [],
        preloaded: [],
        reminded: [],
        called: [],
        searches: 0,
        requests: 0,
        prefixKept: 0,
      })
    },
    send(request) {
      const turn = turns.at(-1)
      if (!turn) return
      const segments = render(request)
      turn.requests++
      if (last === undefined || extendsPrefix(last, segments).extends) turn.prefixKept++
      last = segments
      turn.tokensWith += shelfTokens(segments, request)
      turn.tokensSent += estimateTokens(segments.map(({ text }) => text).join(''))
      turn.tokensWithout += allTokens(definitions())
    },
    reply(content) {
      const turn = turns.at(-1)
      const calls = content.filter(({ type }) => type === 'tool_use')
      const searches = calls.filter(({ name }) => name === SEARCH_TOOL).length
      if (!turn || searches === 0) return
      turn.searches += searches
      if (searches === calls.length) turn.tokensWithout -= allTokens(definitions())
    },
    load(names, isPreload) {
      const turn = turns.at(-1)
      if (!turn) return
      const known = new Set(turns.flatMap(({ loaded }) => loaded))
      const added = names.filter((name) => !known.has(name))
      turn.loaded = [...turn.loaded, ...added]
      if (isPreload) turn.preloaded = [...turn.preloaded, ...added]
    },
    remind(names) {
      const turn = turns.at(-1)
      if (turn) turn.reminded = names
    },
    call(name) {
      const turn = turns.at(-1)
      if (turn && !turn.called.includes(name)) turn.called = [...turn.called, name]
    },
    total() {
      const sum = (field: Counted) => turns.reduce((total, turn) => total + turn[field], 0)
      const tokensWithout = sum('tokensWithout')
      const tokensWith = sum('tokensWith')
      return {
        tokensWithout,
        tokensWith,
        tokensSent: sum('tokensSent'),
        saved: tokensWithout - tokensWith,
        savedShare:
          tokensWithout === 0 ? 0 : Math.round((1000 * (tokensWithout - tokensWith)) / tokensWithout) / 10,
        searches: sum('searches'),
        requests: sum('requests'),
        prefixKept: sum('prefixKept'),
        tools: definitions().length,
        definitionTokens: allTokens(definitions()),
        method: 'characters / 2.9, an estimate',
      }
    },
  }
}

function allTokens(definitions: readonly string[]): number {
  return estimateTokens(definitions.join(''))
}

/** What a request holds because of tools and of searching for them. */
function shelfTokens(segments: readonly Segment[], request: object): number {
  const shown = segments
    .filter(({ kind }) => kind === 'tools' || kind === 'functions')
    .map(({ text }) => text)
  const blocks = listOf(fieldsOf(request).messages).flatMap((message) => blocksOf(fieldsOf(message).content))
  const notes = blocks
    .filter(({ type }) => type === 'text')
    .map(({ text }) => textOf(text))
    .filter((text) => /^<(system-reminder|available-deferred-tools)>/.test(text))
  const searches = new Set(blocks.filter(({ name }) => name === SEARCH_TOOL).map(({ id }) => id))
  const calls = blocks.filter((block) => searches.has(block.id) || searches.has(block.tool_use_id))
  return estimateTokens([...shown, ...notes, ...calls.map((block) => JSON.stringify(block))].join(''))
}
