// Public API of users for other folders.

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
