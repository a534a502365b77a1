// What our other packages use of @toolshelf/server.

export { acceptKeysAndTokens, createTokenAccess, type TokenAccess } from './users/oauth/access.ts'
export { readOAuthSettings } from './users/oauth/token.ts'
