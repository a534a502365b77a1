// Exports of cli/tools for other folders: the tools that commands search, count and list.
export { catalogueOf, readQueries, readTools } from './catalogue.ts'
export { createEncoderProgress, withEncoderProgress } from './encoder-progress.ts'
export { rankerOption, readLimit, readRanker } from './rank-option.ts'
export { listServerTools, MAX_WAIT_SECONDS } from './server-tools.ts'
