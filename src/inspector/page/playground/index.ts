// Exports of inspector/page/playground for other folders.
export { PlaygroundPage } from './page.tsx'
