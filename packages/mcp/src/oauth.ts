// For who starts servers over HTTP, and for `login`: OAuth at a server, and where its tokens are.

export { createOAuth } from './oauth/authorize.ts'
export { defaultTokenFolder } from './oauth/credentials.ts'
export { type LoginOptions, login, logout } from './oauth/login.ts'
