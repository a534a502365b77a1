// What our other packages use of @toolshelf/mcp.

export { ClientMessageTooLong, serveMcpGatewayOnStdio } from './gateway/stdio.ts'
