// Exports of mcp/oauth for other folders.

export { createOAuth, type OAuthOptions } from './authorize.ts'
export { type CredentialFile, defaultTokenFolder, readCredentials } from './credentials.ts'
export { type LoginOptions, login } from './login.ts'
export { logout } from './logout.ts'
