// What the request's copy of the history may hold, from what the request declares.
import type { Capability } from './capabilities.ts'
import { type Facts, referredNames } from './history.ts'
import type { NormalizeView } from './normalize.ts'
import type { Definition } from './types.ts'
import { loadedEarlier, type Wire } from './wire/wire.ts'

export function viewFor(
  wire: Wire | undefined,
  tools: readonly Definition[],
  facts: Facts,
  { boundThinking }: Capability,
): NormalizeView {
  const takesReferences = wire?.takesReferences ?? false
  const referred = takesReferences ? referredNames(facts) : []
  const declared = new Set(referred.length > 0 ? tools.map(({ name }) => name) : [])
  const undeclared = referred.filter((name) => !declared.has(name))
  return {
    open: wire !== undefined,
    takesReferences,
    takesAdditions: wire?.takesAdditions ?? false,
    declares: (name) => declared.has(name),
    recall: wire?.recall ?? loadedEarlier,
    bound: boundThinking,
    key: JSON.stringify([wire?.name, boundThinking, undeclared]),
  }
}
