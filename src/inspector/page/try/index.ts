// The page that tries a tool.
export { TryPage } from './page.tsx'
