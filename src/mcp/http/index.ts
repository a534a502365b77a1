// Exports of mcp/http for other folders.
export { type McpHttpGateway, type McpHttpOptions, serveMcpGatewayOnHttp } from './http.ts'
