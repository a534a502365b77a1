// For gateways of several users: hosts with credentials per user, and where these are kept.

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
