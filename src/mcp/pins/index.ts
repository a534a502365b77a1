// Exports of mcp/pins for other folders.

export {
  type DefinitionChange,
  defaultPinsFolder,
  type OnNew,
  openPins,
  type PinnedServer,
  type Pins,
} from './pins.ts'
export { watchPins } from './places.ts'
export { pinnedParts } from './record.ts'
