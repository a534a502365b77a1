// What our other packages use of @toolshelf/mcp.

export {
  type CredentialStore,
  openCredentialStore,
  openKeyring,
  removeUserCredentials,
} from './personal/credential-store.ts'
export {
  createPersonalHosts,
  loginFile,
  type PersonalHosts,
  type PersonalHostsOptions,
} from './personal/personal-hosts.ts'
