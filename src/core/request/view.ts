// Determines what the messages of a request may contain, given its tools.
// Implements N2.

import { type Facts, referredNames } from '../history/index.ts'
import type { Context } from '../state.ts'
import type { Definition } from '../types.ts'
import { loadedEarlier, type Wire } from '../wire/index.ts'
import type { Demands } from './demands.ts'
import type { NormalizeView } from './normalize.ts'

/** Returns what the messages of this request may contain. */
export function viewFor(
  { capability }: Context,
  wire: Wire | undefined,
  tools: readonly Definition[],
  facts: Facts,
  { continuesThread }: Demands,
): NormalizeView {
  const takesReferences = wire?.takesReferences ?? false
  const referred = takesReferences ? referredNames(facts) : []
  const declared = new Set(referred.length > 0 ? tools.map(({ name }) => name) : [])
  const undeclared = referred.filter((name) => !declared.has(name))
  return {
    isOpen: wire !== undefined,
    takesReferences,
    takesAdditions: wire?.takesAdditions ?? false,
    declares: (name) => declared.has(name),
    recall: wire?.recall ?? loadedEarlier,
    isBound: capability.boundThinking,
    continuesThread,
    key: JSON.stringify([wire?.name, capability.boundThinking, continuesThread, undeclared]),
  }
}
