// Exports of users/credentials for other folders.

export {
  CredentialError,
  type CredentialStore,
  type Keyring,
  openCredentialStore,
  openKeyring,
  removeUserCredentials,
  type UserCredentials,
} from './credential-store.ts'
