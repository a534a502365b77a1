// The public surface of using what is deferred.

export { relevantTools } from './relevant-tools.ts'
export type { LearnedPin, ServerLike, Using, UsingOptions } from './types.ts'
export { createUsing, type UsingParts } from './using.ts'
