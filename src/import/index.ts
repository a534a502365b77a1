// Public API of import for other folders.
export { clientEntries } from './client-entry.ts'
export {
  compareWith,
  type ImportPlace,
  type ImportPlan,
  type ImportState,
  isNews,
  type PlannedServer,
  planImport,
} from './plan.ts'
