// Exports of mcp/personal for other folders.

export {
  createPersonalHosts,
  loginFile,
  type PersonalHosts,
  type PersonalHostsOptions,
  type UserLayer,
} from './personal-hosts.ts'
