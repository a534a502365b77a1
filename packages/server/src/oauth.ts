// For gateways whose users have access tokens of an identity provider, beside keys or in place of them.

export { acceptKeysAndTokens, createTokenAccess, type TokenAccess } from './users/oauth/access.ts'
export { readOAuthSettings } from './users/oauth/token.ts'
