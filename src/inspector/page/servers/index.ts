// The page of servers.
export { ServersPage } from './page.tsx'
