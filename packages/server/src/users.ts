// For who lets users in, and for `toolshelf users`: keys, the directory of users, what each has used.

export { createKeyAuthenticator, createReplaceableAuthenticator } from './users/authenticator.ts'
export type { UserDirectory } from './users/directory.ts'
export { openUserFile, openUserStore, readUserFile } from './users/directory.ts'
export { createPeople, type People } from './users/oauth/access.ts'
export { checkId, createKey, hasExpired } from './users/records.ts'
export { createUsageMeter } from './users/usage.ts'
