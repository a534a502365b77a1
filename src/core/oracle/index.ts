// The oracle: a model of the Messages API's server side, to test against and to serve from.
export type { ApiError } from './error.ts'
export { extendsPrefix, type PrefixCheck } from './prefix.ts'
export { countTokens, render, visibleTools } from './render.ts'
export { sign, thinkingPrefix } from './thinking.ts'
export { type ValidateOptions, validate } from './validate.ts'
export { type Revealed, type Segment, type Step, type Walk, walk } from './walk.ts'
