// Exports of cli/doctor for other folders: the parts of `toolshelf doctor`.
export { checkCatalog, checkServers, ciOptions, readCi } from './ci.ts'
export { doctorPage } from './page.ts'
