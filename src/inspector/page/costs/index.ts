// The page of costs.
export { CostsPage } from './page.tsx'
