// Exports of inspector/model for other folders; all of it is pure.
export { compareTurns, type TurnComparison } from './compare.ts'
export { addEventFile, type ReadFile } from './event-file.ts'
export {
  type ConversationSummary,
  createEventModel,
  type EventCounts,
  type EventModel,
  type EventModelLimits,
} from './event-model.ts'
export {
  type SpendingSpan,
  spendingOverTime,
  type ToolUses,
  toolUses,
  totalSpending,
} from './over-time.ts'
export type { Pools, SetTool, WorkingSet } from './pools.ts'
export { createTextLines, type EventRecord, parseLine, readEvent } from './records.ts'
export { shownParts, type TextPart } from './shown-text.ts'
export { type InspectedSpending, NO_SPENDING, spendingOf } from './spending.ts'
export { type Area, squarify } from './treemap.ts'
export type {
  DefinitionShare,
  InspectedAnswer,
  InspectedCall,
  InspectedCause,
  InspectedPrefix,
  InspectedSampling,
  InspectedSearch,
  InspectedTurn,
  Usage,
} from './turn-types.ts'
