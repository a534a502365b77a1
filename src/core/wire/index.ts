// Exports of core/wire for other folders.

export { loadedEarlier, makeWire, PLACEHOLDER, searchTool, selectIt, type Wire } from './wire.ts'
