// Exports of mcp/personal for other folders.

export {
  createPersonalHosts,
  type PersonalHosts,
  type PersonalHostsOptions,
  type UserLayer,
} from './personal-hosts.ts'
export { loginFile } from './user-login.ts'
