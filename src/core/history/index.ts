// Exports of core/history for other folders.

export { availableList, deltaNote } from './announce.ts'
export { isBlock, isToolChange, messageBlocks, refuse, textBlock, textResult } from './blocks.ts'
export {
  type Anchors,
  appendNote,
  carriesState,
  type Facts,
  type FoldedHistory,
  foldHistory,
  follow,
  loadedOtherwise,
  referredNames,
} from './fold.ts'
export {
  type BoundaryNote,
  type DeltaNote,
  describedNote,
  isAnnouncement,
  isDeferralNote,
  isOurText,
  loadedNote,
  ourCallId,
  placeOfNames,
  readDelta,
  reminder,
  searchNote,
  TOOL_LOADED,
  TOOLS_CHANGED,
  takeRemark,
  withoutNoteFields,
  withRemark,
  writeBoundary,
} from './notes.ts'
export {
  filterThinking,
  isThinking,
  keepBlocks,
  noOpenCalls,
  type OpenCalls,
  pairedReply,
  pairedTurn,
  withoutSearches,
  withoutThinking,
} from './pairs.ts'
