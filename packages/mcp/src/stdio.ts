// For `toolshelf mcp`: the gateway on standard input and output, apart from the one over HTTP.

export { serveMcpGatewayOnStdio } from './gateway/stdio.ts'
