// Parses `--ranker` and `--limit`.
import type { Rank } from '../../core/index.ts'
import { type RankerName, rankers } from '../../rankers/index.ts'
import { type Option, UsageError } from '../command.ts'

/** The option `--ranker`. */
export const rankerOption: Option = {
  type: 'string',
  value: 'name',
  values: Object.keys(rankers),
  about: `one of ${Object.keys(rankers).join(', ')}`,
}

/** Returns the ranker of this name. */
export function readRanker(name: string): Rank {
  if (!Object.hasOwn(rankers, name)) {
    throw new UsageError(`unknown ranker "${name}"; use one of ${Object.keys(rankers).join(', ')}.`)
  }
  return rankers[name as RankerName]
}

/** Parses `--limit`. */
export function readLimit(text: string | undefined, standard: number): number {
  const limit = text === undefined ? standard : Number(text)
  if (!Number.isInteger(limit) || limit < 1)
    throw new UsageError(`--limit is "${text}"; use a whole number of at least 1.`)
  return limit
}
