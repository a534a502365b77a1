// `toolshelf/core`: the library without Node, packages or a clock, for hosts that give it their own.
export { createPureShelf, foldHistory, type PureShelfOptions } from '../core/index.ts'
