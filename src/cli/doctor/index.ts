// Exports of cli/doctor for other folders: the parts of `toolshelf doctor`.
export { doctorPage } from './page.ts'
