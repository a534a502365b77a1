// Exports of cli/servers for other folders: the servers of a configuration, for commands that start, list or change them.
export { type ConfigWatch, describeProblem, watchConfig } from './config-watch.ts'
export { editableFiles } from './editable-files.ts'
export { createListingHost, listAll, toStart } from './listing-host.ts'
export { storedLogins } from './logins.ts'
export { editFile, fileIn, fileOption } from './own-servers.ts'
export { credentialsIn, personalParts } from './personal-servers.ts'
export { type ServersToStart, serversIfAny, serversToStart } from './servers-to-start.ts'
export { openSkillPlaces } from './skill-places.ts'
