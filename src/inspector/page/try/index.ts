// Exports of inspector/page/try for other folders.
export { TryPage } from './page.tsx'
