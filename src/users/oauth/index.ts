// Exports of users/oauth for other folders.

export {
  acceptKeysAndTokens,
  createTokenAccess,
  type TokenAccess,
  type TokenAccessOptions,
} from './access.ts'
export { type OAuthSettings, readOAuthSettings } from './settings.ts'
