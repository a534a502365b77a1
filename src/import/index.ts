// The door of import: what other folders use of it.
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
