// `toolshelf/core`: the library without Node, packages or a clock, for hosts that give it their own.

export { foldHistory } from '../core/history/fold.ts'
export { createPureShelf, type PureShelfOptions } from '../core/shelf.ts'
