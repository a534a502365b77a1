// The oracle: a model of the Messages API's server side, to test against and to serve from.

export type { ApiError } from './error.ts'
export {
  areNames,
  isOfKind,
  isSchema,
  KEYWORD_KINDS,
  type KeywordKind,
  MAX_SCHEMA_DEPTH,
} from './json-schema.ts'
export { withoutUnknown } from './known.ts'
export { extendsPrefix, type PrefixCheck } from './prefix.ts'
export { changeIn, isChange, isReference, mayChangeView, referencesIn } from './references.ts'
export { countTokens, renderRequest, visibleTools } from './render.ts'
export { hasCacheMarks, MEDIA_CHARACTERS, readingOf } from './size.ts'
export { signThinking, THINKING_BINDING, thinkingPrefix } from './thinking.ts'
export { entryOf, isDeferred, kindOf, nameOf } from './tool-entries.ts'
export { blocksOf, isDirective, pathOf } from './turns.ts'
export { type ValidateOptions, validateRequest } from './validate.ts'
export {
  type PromptSegment,
  type RequestWalk,
  type RevealedTool,
  type WalkStep,
  walkRequest,
} from './walk.ts'
