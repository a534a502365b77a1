// Exports of agent/using for other folders.

export { relevantTools } from './relevant-tools.ts'
export type { LearnedPin, ServerLike, Using, UsingOptions } from './types.ts'
export { createUsing, type UsingParts } from './using.ts'
