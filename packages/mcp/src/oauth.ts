// What our other packages use of @toolshelf/mcp.

export { createOAuth } from './oauth/authorize.ts'
export { defaultTokenFolder } from './oauth/credentials.ts'
export { type LoginOptions, login, logout } from './oauth/login.ts'
