// What our other packages use of @toolshelf/mcp.

export { serveMcpGatewayOnStdio } from './gateway/stdio.ts'
