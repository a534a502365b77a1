// Stores texts and reads them back through a store, for the library, the gateways and the agent.
import { errorMessage } from '../../lib/index.ts'
import type { Pause } from '../options.ts'
import { idIn } from './handle.ts'
import { type ReadInput, type ReadPart, readPart } from './read.ts'
import { pageSizeFor, type Replacement, replacementFor, unknownHandle } from './shelve.ts'
import type { ResultSettings } from './types.ts'

/** A text to store for an owner; at most `budget` characters are shown in its place. */
export type TextToShelve = {
  readonly owner: string
  readonly text: string
  readonly budget: number
  /** The tool through which the model calls the reading tool, if that is not on its list. */
  readonly caller?: string | undefined
}

/** Stores the text and returns its replacement. Rejects if the store does; then the text must be sent whole. */
export async function shelveText(
  results: ResultSettings,
  { owner, text, budget, caller }: TextToShelve,
): Promise<Replacement> {
  const id = results.idOf(text)
  await results.store.put(owner, id, text)
  return replacementFor(text, id, { budget, pageSize: pageSizeFor(results.budget), caller })
}

/** Reads what a call of the reading tool asks for, with pauses, or returns why it cannot. */
export async function readShelved(
  { store, budget }: Pick<ResultSettings, 'store' | 'budget'>,
  owner: string | undefined,
  input: unknown,
  pause?: Pause,
): Promise<ReadPart | { readonly problem: string }> {
  const wanted = (typeof input === 'object' && input !== null ? input : {}) as ReadInput
  const id = idIn(wanted.handle)
  if (id === undefined || owner === undefined) return { problem: unknownHandle(wanted.handle) }
  try {
    const text = await store.get(owner, id)
    if (text === undefined) return { problem: unknownHandle(wanted.handle) }
    return await readPart(text, wanted, { pageSize: pageSizeFor(budget), pause })
  } catch (error) {
    return { problem: `The shelf cannot be read now: ${errorMessage(error)}. Try again.` }
  }
}
