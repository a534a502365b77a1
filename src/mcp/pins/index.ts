// Exports of mcp/pins for other folders.

export { type Difference, differenceLines, differences, outline } from './changes.ts'
export {
  comparePinned,
  type DefinitionChange,
  defaultPinsFolder,
  openPins,
  type PinnedServer,
  type Pins,
  type Verdict,
} from './pins.ts'
export { watchPins } from './stored-pins.ts'
