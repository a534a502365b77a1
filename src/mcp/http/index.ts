// Exports of mcp/http for other folders.
export { type HttpGateway, type HttpOptions, serveMcpGatewayOnHttp } from './http.ts'
