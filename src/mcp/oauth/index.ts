// Public API of mcp/oauth for other folders.

export { createOAuth } from './authorize.ts'
export { defaultTokenFolder } from './credentials.ts'
export { type LoginOptions, login } from './login.ts'
export { logout } from './logout.ts'
