// Public API of users for other folders.

export type { AccessRefusal, AccessRules, Authenticate, Profile, UsageLimits, User } from './types.ts'
