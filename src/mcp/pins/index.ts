// Exports of mcp/pins for other folders.

export {
  type DefinitionChange,
  defaultPinsFolder,
  type OnNew,
  openPins,
  type PinnedServer,
  type Pins,
  pinnedParts,
} from './pins.ts'
export { watchPins } from './places.ts'
