// Exports of inspector/page/servers for other folders.
export { ServersPage } from './page.tsx'
