// Public API of mcp/pins for other folders.

export { type Difference, differences, diffLines, outline } from './changes.ts'
export {
  type Change,
  defaultPinsFolder,
  openPins,
  type PinnedServer,
  type Pins,
  type Verdict,
} from './pins.ts'
