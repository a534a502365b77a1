// Exports of core/gate for other folders.
export {
  type Capabilities,
  type Capability,
  capabilityOf,
  defaultCapabilities,
  isKnownHost,
  type ModelRow,
  mergeCapabilities,
  type ProviderRow,
  searchBetas,
} from './capabilities.ts'
export { backEndKey, decide, isConnecting, usesReferences, wireInUse } from './gate.ts'
export { type ModeReading, readMode } from './mode.ts'
export { type Counts, reachesShare } from './threshold.ts'
export { additionBeta, type Speaker } from './wire-traits.ts'
