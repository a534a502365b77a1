// Exports of agent/permissions for other folders.
export {
  createPermissions,
  type PermissionAnswer,
  type PermissionQuestion,
  type PermissionRule,
  type Permissions,
  type PermissionsOptions,
  type RuleEffect,
  type RuleScope,
} from './permissions.ts'
export { parseRule, READ_ONLY, trustsAnnotations } from './rules.ts'
