// What the gate must know of each wire before one is made: whether it speaks references, and who understands it.
// Implements G4.

import type { Settings } from '../options.ts'
import type { WireName } from '../types.ts'
import type { Capability } from './capabilities.ts'

/** A back-end as it is set up: what it can do, and what was asked of it. */
export type Speaker = { readonly capability: Capability; readonly settings: Settings }

export type WireTraits = {
  readonly usesReferences: boolean
  readonly isSpokenBy: (speaker: Speaker) => boolean
}

const takesReferences = ({ capability }: Speaker) => capability.provider?.references === true

export const wireTraits: Record<WireName, WireTraits> = {
  reference: { usesReferences: true, isSpokenBy: takesReferences },
  addition: {
    usesReferences: true,
    isSpokenBy: (speaker) => takesReferences(speaker) && additionBeta(speaker) !== undefined,
  },
  hosted: {
    usesReferences: true,
    isSpokenBy: (speaker) => takesReferences(speaker) && offersHosted(speaker),
  },
  append: { usesReferences: false, isSpokenBy: () => true },
  bridge: { usesReferences: false, isSpokenBy: () => true },
}

/** The beta that `tool_addition` needs here, if the back-end has it. */
export function additionBeta({ capability, settings }: Speaker): string | undefined {
  const additions = capability.provider?.additions
  return settings.additions === 'value' ? additions?.byValue : additions?.byReference
}

function offersHosted({ capability, settings }: Speaker): boolean {
  const offered = capability.provider?.hosted ?? []
  return settings.hostedSearch ? offered.includes(settings.hostedSearch) : offered.length > 0
}
