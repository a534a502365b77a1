// The door of mcp/oauth: what other folders use of it.

export { createOAuth } from './authorize.ts'
export { defaultTokenFolder } from './credentials.ts'
export { type LoginOptions, login } from './login.ts'
export { logout } from './logout.ts'
