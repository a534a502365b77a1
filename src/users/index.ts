// Exports of users for other folders.

export { createKeyAuthenticator, type KeyAuthenticatorOptions } from './authenticator.ts'
export type { UserDirectory } from './directory.ts'
export { openUserFile, readUserFile, type UserFileOptions } from './file-directory.ts'
export { type CreatedKey, createKey, hasExpired, type KeyRecord } from './keys.ts'
export { createPeople, type NamedUser, type People, type PersonOfToken } from './people.ts'
export { checkId, type TokenOwner, type UserRecord, type UserRecords, UsersError } from './records.ts'
export {
  createReplaceableAuthenticator,
  type ReplaceableAuthenticator,
} from './replaceable-authenticator.ts'
export { hasSameRights, type Rights, rightsOf } from './rights.ts'
export { openUserStore, type UserStoreOptions } from './store-directory.ts'
export {
  type AccessRefusal,
  type AccessRules,
  type Authenticate,
  type Authenticator,
  isRefusal,
  type Profile,
  type UsageLimits,
  type User,
} from './types.ts'
export {
  type BegunUse,
  createUsageMeter,
  type UsageKind,
  type UsageMeter,
  type UsageMeterOptions,
} from './usage.ts'
export {
  type ClientWork,
  createClientWork,
  LimitError,
  type StartedWork,
  type WorkKind,
} from './work.ts'
