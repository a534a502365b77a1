// Defines the properties of wires that the gate needs: whether a wire uses references, and which back-ends support it.
// Implements G4.

import type { Capability } from '../capabilities.ts'
import type { Settings } from '../options.ts'
import type { WireName } from '../types.ts'

/** The capabilities of a back-end, and the settings for it. */
export type Speaker = { readonly capability: Capability; readonly settings: Settings }

/** The properties of a wire. */
type WireTraits = {
  readonly usesReferences: boolean
  readonly isSpokenBy: (speaker: Speaker) => boolean
}

const takesReferences = ({ capability }: Speaker) => capability.provider?.references === true

/** The properties of each wire. */
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

/** Returns the beta header that `tool_addition` needs; undefined if the back-end does not support it. */
export function additionBeta({ capability, settings }: Speaker): string | undefined {
  const additions = capability.provider?.additions
  return settings.additions === 'value' ? additions?.byValue : additions?.byReference
}

function offersHosted({ capability, settings }: Speaker): boolean {
  const offered = capability.provider?.hosted ?? []
  return settings.hostedSearch ? offered.includes(settings.hostedSearch) : offered.length > 0
}
