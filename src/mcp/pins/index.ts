// The door of mcp/pins: what other folders use of it.

export { type Difference, differences, diffLines, outline } from './changes.ts'
export {
  type Change,
  defaultPinsFolder,
  openPins,
  type PinnedServer,
  type Pins,
  type Verdict,
} from './pins.ts'
