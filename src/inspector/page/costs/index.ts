// Exports of inspector/page/costs for other folders.
export { CostsPage } from './page.tsx'
