// The package's main entry: core with what it cannot have itself, a validator, a clock, the environment and a voice.
import {
  createShelf as createPureShelf,
  type ShelfOptions as PureOptions,
  type Rank,
  type Shelf,
  ShelfError,
} from './core/index.ts'
import { startTimer } from './node/index.ts'
import { type RankerName, rankers } from './rankers/index.ts'
import { validateInput } from './validate/index.ts'

export * from './entries/core.ts'
export { capabilitiesFromFile, capabilitiesFromUrl, keepFresh } from './node/index.ts'
export { type RankerName, rankers, warmUp } from './rankers/index.ts'
export { validateInput } from './validate/index.ts'

/** As in core, with rankers by name; `model` is the default. */
export type ShelfOptions = Omit<PureOptions, 'rank'> & { readonly rank?: Rank | RankerName }

export function createShelf(options: ShelfOptions = {}): Shelf {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  const { rank = 'model' } = options
  return createPureShelf({
    validate: validateInput,
    timer: startTimer,
    environment: process.env,
    notify: (message) => console.warn(`toolshelf: ${message}`),
    ...given,
    rank: typeof rank === 'string' ? rankerNamed(rank) : rank,
  })
}

function rankerNamed(name: string): Rank {
  if (Object.hasOwn(rankers, name)) return rankers[name as RankerName]
  const known = Object.keys(rankers).join(', ')
  throw new ShelfError('BAD_OPTION', `option "rank" is "${name}"; use one of ${known}, or a function.`, name)
}
