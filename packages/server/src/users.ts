// What our other packages use of @toolshelf/server.

export { createKeyAuthenticator } from './users/authenticator.ts'
export type { UserDirectory } from './users/directory.ts'
export { openUserFile, readUserFile } from './users/file-directory.ts'
export { createKey, hasExpired } from './users/keys.ts'
export { createPeople, type People } from './users/people.ts'
export { checkId } from './users/records.ts'
export { createReplaceableAuthenticator } from './users/replaceable-authenticator.ts'
export { openUserStore } from './users/store-directory.ts'
export { createUsageMeter } from './users/usage.ts'
