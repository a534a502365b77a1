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
export {
  backEndKey,
  type Counts,
  decide,
  isConnecting,
  type ModeReading,
  reachesShare,
  readMode,
  usesReferences,
  wireInUse,
} from './gate.ts'
export { additionBeta, type Speaker } from './wire-traits.ts'
