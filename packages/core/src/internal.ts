// What our other packages use of the core, besides its public doors. It may change with every version.

export { availableList } from './announce.ts'
export type { FindRelated, RelatedItem, UnsearchedServer } from './answer.ts'
export {
  BATCH_TOOL,
  type BatchCall,
  batchContent,
  callToolsTool,
  createQueue,
  readBatch,
  runBatch,
} from './batch.ts'
export { type CallOutcome, type CallSubject, type Content, resultEvent } from './calls.ts'
export { capabilityOf, isKnownHost, searchBetas } from './capabilities.ts'
export { cleanTexts } from './definition.ts'
export type {
  ClientIdentity,
  ConversationKind,
  ConversationListener,
  ConversationStart,
  OpenTrace,
  TraceRecord,
} from './events.ts'
export { type DescribedTools, describePool, toolShare } from './events.ts'
export {
  addCounts,
  addFigures,
  type BilledTokens,
  billedTokens,
  countedTokens,
  dollars,
  dollarsFor,
  type Figures,
  figuresOf,
  type MeasuredRequest,
  noFigures,
  type PriceTable,
  priceOf,
  prices,
  promptTokens,
  readPrices,
  type Sampling,
  withoutToolSearch,
} from './figures.ts'
export { reachesShare } from './gate.ts'
export { type DiffLine, type FileChange, fileChange } from './lib/diff.ts'
export {
  type Fields,
  fieldsOf,
  isContainer,
  isFields,
  isShallow,
  listOf,
  omitFields,
  parseBetas,
  parseJson,
  textOf,
  toJson,
  walkJson,
  wellFormed,
  wellFormedJson,
  withoutCacheControl,
} from './lib/json.ts'
export { isSchema, PROPERTY_NAME } from './lib/json-schema.ts'
export {
  bindMethods,
  dropOldest,
  type Environment,
  groupBy,
  hash,
  oncePer,
  oncePerFrozen,
  setNewest,
} from './lib/objects.ts'
export {
  aboutChanges,
  cleanText,
  cut,
  errorMessage,
  hasCode,
  literalRanges,
  oneLine,
  quote,
  readableText,
  replaceLiterals,
  spellOutInvisible,
  unsafeKinds,
} from './lib/text.ts'
export { checkMedia, checkResultItem, unexpectedTag } from './media.ts'
export {
  createMetricRegistry,
  type MetricRegistry,
  requestSeries,
  type SeriesTable,
  storeSeries,
} from './metrics.ts'
export {
  CALL_THESE,
  CALL_TOOL,
  callToolInput,
  closestNames,
  editDistance,
  fullName,
  listedNames,
  MAX_SLUG_LENGTH,
  MCP_PREFIX,
  matchesAny,
  matchesServer,
  matchesTool,
  misnamesArguments,
  readServerPattern,
  readToolPattern,
  SEARCH_TOOL,
  serverOfName,
  slugOf,
  slugsOf,
  splitName,
  splitToolName,
  type ToolPattern,
} from './names.ts'
export { isAnnouncement, isOurText, reminder, searchNote, TOOL_LOADED, withRemark } from './notes.ts'
export { type Pause, resolveOptions, type Timer } from './options.ts'
export { buildPool } from './pool.ts'
export { type CallKind, describeReads, describeSearches } from './present.ts'
export { cleanQuery } from './query.ts'
export {
  blocksOf,
  changeIn,
  countMarks,
  countTokens,
  extendsPrefix,
  hasCacheMarks,
  isChange,
  isDeferred,
  isDirective,
  isReference,
  isToolset,
  kindOf,
  MAX_MARKS,
  type Mark,
  marksOf,
  mayChangeView,
  memberDeferrals,
  nameOf,
  type Placed,
  type PromptSegment,
  pathOf,
  type RequestWalk,
  type RevealedTool,
  readingOf,
  referencesIn,
  renderRequest,
  shownDefinition,
  type TurnRole,
  visibleTools,
  type WalkStep,
  walkRequest,
} from './reading.ts'
export {
  type BlockInMaking,
  blockEvents,
  createCollector,
  eventsOf,
  finishBlock,
  grow,
  inputOf,
  type StreamEvent,
} from './reply.ts'
export { READ_TOOL, replacementFor, type ShelvedResult, shelveText } from './results.ts'
export { readResultTool, readShelved } from './results-read.ts'
export {
  type Evaluation,
  type EvaluationQuery,
  evaluate,
  interval,
  METRICS,
  poolTools,
  type Quality,
} from './search/evaluate.ts'
export type { Translation } from './search/language.ts'
export { createRelatedSearch, type RelatedEntry } from './search/related.ts'
export { FILLER_WORDS, STOP_WORDS, searchFields, splitWords } from './search/words.ts'
export {
  entriesIn,
  type MessageListener,
  type StateStore,
  type StoredEntry,
  type StoredValue,
  StoreError,
} from './store.ts'
export {
  allDefinitionTokens,
  CHARACTERS_PER_TOKEN,
  definitionTokens,
  MIN_CHARACTERS_PER_TOKEN,
  tokensFor,
} from './tokens.ts'
export type { Block, MessageLike, Pool, ToolPartition } from './types.ts'
export {
  type AccessRefusal,
  type AccessRules,
  type Authenticator,
  hasSameRights,
  isRefusal,
  type Profile,
  type Rights,
  rightsOf,
  type UsageKind,
  type UsageLimits,
  type UsageMeter,
  type User,
} from './users.ts'
export { searchTool } from './wires.ts'
