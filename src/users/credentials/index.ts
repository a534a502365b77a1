// Exports of users/credentials for other folders.

export {
  type CredentialStore,
  openCredentialStore,
  removeUserCredentials,
  type UserCredentials,
} from './credential-store.ts'
export { CredentialError, type Keyring, openKeyring } from './keyring.ts'
