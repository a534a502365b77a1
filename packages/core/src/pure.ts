// `@toolshelf/core/pure`: the library without Node, packages or a clock, for hosts that give it their own.

export { foldHistory } from './history.ts'
export { createPureShelf, type PureShelfOptions } from './shelf.ts'
