// The page of searches.
export { PlaygroundPage } from './page.tsx'
