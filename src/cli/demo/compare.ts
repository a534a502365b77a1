// Runs the same task with each way of helping a model use tools it cannot see, and compares cost and savings.
import type { LearnedTool, ToolUseHelpOptions } from '../../agent/using/index.ts'
import type { PriceTable } from '../../core/figures/index.ts'
import { dollars } from '../../core/figures/index.ts'
import { table } from '../../terminal/index.ts'
import type { OpenedClient } from '../session/index.ts'
import { temporaryFolder } from './folder.ts'
import type { Ledger, LedgerTurn } from './ledger.ts'
import { playDemo } from './play.ts'
import type { ConfigIn } from './servers.ts'

type Way = { readonly name: string; readonly using: ToolUseHelpOptions }

const NOTHING: ToolUseHelpOptions = { describe: 0, remind: 0, preload: false, learn: false }

/** Learning needs three earlier sessions: the first runs provide them. */
const WAYS: readonly Way[] = [
  { name: 'names only', using: { ...NOTHING, learn: true } },
  { name: '--describe 60', using: { ...NOTHING, describe: 60, learn: true } },
  { name: '--remind 3', using: { ...NOTHING, remind: 3, learn: true } },
  { name: 'preload', using: { ...NOTHING, preload: true } },
  { name: '--learn', using: { ...NOTHING, learn: true } },
]

/** One run. */
export type Compared = {
  readonly name: string
  readonly ledger: Ledger
  readonly learnedTools: readonly LearnedTool[]
}

/** Options of `compareWays`. */
export type ComparingOptions = {
  readonly configIn: ConfigIn
  readonly live: OpenedClient | undefined
  readonly prices: PriceTable
  readonly pricedAs: string
  readonly signal: AbortSignal
  /** Called as each run begins. */
  readonly onBegin: (name: string, index: number, total: number) => void
}

/** Runs the task once for each way. */
export async function compareWays({ onBegin, ...playing }: ComparingOptions): Promise<Compared[]> {
  const { folder: memory, remove } = await temporaryFolder()
  const compared: Compared[] = []
  try {
    for (const [index, { name, using }] of WAYS.entries()) {
      if (playing.signal.aborted) break
      onBegin(name, index + 1, WAYS.length)
      for await (const event of playDemo({ ...playing, using, memory }))
        if (event.type === 'done')
          compared.push({ name, ledger: event.ledger, learnedTools: event.learnedTools })
    }
  } finally {
    remove()
  }
  return compared
}

/** Renders the comparison as a table with remarks. */
export function comparedLines(compared: readonly Compared[], isLive: boolean): string[] {
  const rows = compared.map(({ name, ledger }) => {
    const total = ledger.total()
    const money = total.dollarsWith === undefined ? [] : [dollars(total.dollarsWith)]
    return [
      name,
      total.searches,
      total.extraRoundTrips,
      count(total.tokensWith),
      count(total.tokensSaved),
      ...money,
    ]
  })
  const total = compared[0]?.ledger.total()
  const isPriced = total?.dollarsWith !== undefined
  const header = ['way', 'searches', 'extra round trips', 'tokens with', 'tokens saved']
  return [
    ...table([...header, ...(isPriced ? ['dollars with'] : [])], rows).split('\n'),
    ...(isPriced ? [`Dollars: ${total.pricedAs} with prompt caching, prices of ${total.pricesOf}.`] : []),
    '',
    ...compared.flatMap(remarks),
    isLive
      ? 'One run each: a model may act differently next time.'
      : 'A script always searches as written, so this compares only cost; --live shows whether a model then forgets less.',
  ]
}

function remarks({ name, ledger, learnedTools }: Compared): string[] {
  const { turns } = ledger
  const needed = turns.flatMap(newlyCalled)
  const named = turns.flatMap((turn) =>
    newlyCalled(turn, turns.indexOf(turn), turns).filter((tool) => turn.reminded.includes(tool)),
  )
  const preloaded = turns.flatMap((turn) => turn.preloaded)
  return [
    ...(turns.some(({ reminded }) => reminded.length > 0)
      ? [`${name}: of ${needed.length} tools that had to be loaded, ${named.length} were named beforehand`]
      : []),
    ...preloaded.map((tool) => `${name}: ${tool} was loaded at once, because the message names it`),
    ...learnedTools.map(({ tool, reason }) => `${name}: ${tool} was there from the start: ${reason}`),
  ]
}

/** Tools that a turn called and no earlier turn had loaded. */
function newlyCalled(turn: LedgerTurn, index: number, turns: readonly LedgerTurn[]): string[] {
  const known = new Set(turns.slice(0, index).flatMap(({ loaded }) => loaded))
  return turn.called.filter((tool) => !known.has(tool))
}

function count(tokens: number): string {
  return tokens.toLocaleString('en-US')
}
