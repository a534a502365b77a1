// Exports of inspector/model for other folders; all of it is pure.
export { compareTurns, type TurnComparison } from './compare.ts'
export {
  addEventFile,
  type ConversationSummary,
  createEventModel,
  type EventCounts,
  type EventModel,
  type EventModelLimits,
  type ReadFile,
} from './event-model.ts'
export type { Pools, SetTool, WorkingSet } from './pools.ts'
export { createTextLines, type EventRecord, parseLine, readEvent } from './records.ts'
export { shownParts, type TextPart } from './shown-text.ts'
export { type InspectedSpending, NO_SPENDING, spendingOf } from './spending.ts'
export { spendingByDay, type ToolUses, toolUses, totalSpending } from './totals.ts'
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
