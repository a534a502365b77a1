// Compares two turns of a conversation: which tools came into sight or left it, and which figures changed.
import type { Pools, SetTool } from './pools.ts'
import type { InspectedTurn } from './turn-types.ts'

/** What differs between two turns. */
type TurnComparison = {
  /** Tools that the model sees in the second turn and not in the first. */
  readonly gained: readonly SetTool[]
  readonly lost: readonly SetTool[]
  /** Tools that can be found by search in one turn alone. */
  readonly newOnShelf: readonly SetTool[]
  readonly goneFromShelf: readonly SetTool[]
  readonly figures: readonly {
    readonly label: string
    readonly before: number | string
    readonly after: number | string
  }[]
}

/** Compares two turns. */
export function compareTurns(before: InspectedTurn, after: InspectedTurn, pools: Pools): TurnComparison {
  const [old, now] = [pools.workingSet(before), pools.workingSet(after)]
  const [seenBefore, seenAfter] = [
    [...old.always, ...old.loaded],
    [...now.always, ...now.loaded],
  ]
  const poolBefore = [...seenBefore, ...old.shelf]
  const poolAfter = [...seenAfter, ...now.shelf]
  return {
    gained: difference(seenAfter, seenBefore),
    lost: difference(seenBefore, seenAfter),
    newOnShelf: difference(now.shelf, poolBefore),
    goneFromShelf: difference(old.shelf, poolAfter),
    figures: figuresOf(before).map(([label, value], at) => ({
      label,
      before: value,
      after: figuresOf(after)[at]?.[1] ?? '',
    })),
  }
}

function difference(tools: readonly SetTool[], others: readonly SetTool[]): readonly SetTool[] {
  const names = new Set(others.map(({ name }) => name))
  return tools.filter(({ name }) => !names.has(name))
}

function figuresOf(turn: InspectedTurn): readonly (readonly [string, number | string])[] {
  const { share, answer, samplings } = turn
  const usage = samplings.at(-1)?.usage
  return [
    ['Model', turn.model],
    ['Tool search', turn.decision ? (turn.decision.isOpen ? 'on' : 'off') : ''],
    ['Messages', turn.messages ?? ''],
    ['Tools in sight', share?.visible ?? answer?.toolsVisible ?? ''],
    ['Tools in all', share?.total ?? answer?.toolsGiven ?? ''],
    ['Tokens of definitions in sight', share?.tokensWith ?? ''],
    ['Tokens of all definitions', share?.tokensWithout ?? ''],
    ['Input tokens not cached', usage?.input ?? ''],
    ['Tokens read from the cache', usage?.cacheRead ?? ''],
    ['Tokens written to the cache', usage ? usage.cacheWrite + usage.cacheWrite1h : ''],
    ['Searches', turn.searches.length],
    ['Calls', turn.calls.length],
  ]
}
