// What our other packages use of @toolshelf/server.

export { createKeyAuthenticator, createReplaceableAuthenticator } from './users/authenticator.ts'
export type { UserDirectory } from './users/directory.ts'
export { openUserFile, openUserStore, readUserFile } from './users/directory.ts'
export { createPeople, type People } from './users/oauth/access.ts'
export { checkId, createKey, hasExpired } from './users/records.ts'
export { createUsageMeter } from './users/usage.ts'
