// Exports of cli/servers for other folders: the servers of a configuration, for commands that start, list or change them.
export { type ConfigWatch, describeProblem, watchConfig } from './config-watch.ts'
export { createListingHost, listAll, toStart } from './listing-host.ts'
export { editableFiles, editFile, fileIn, fileOption } from './own-servers.ts'
export { credentialsIn, personalParts } from './personal-servers.ts'
export {
  clientsStarting,
  loginHint,
  movedServersAdvice,
  noServersHint,
  pinsHint,
  reportWaiting,
  type ServersToStart,
  serversIfAny,
  serversToStart,
  startingServers,
  storedLogins,
  withStoredLogins,
} from './start.ts'
