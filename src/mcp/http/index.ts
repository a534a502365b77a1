// Exports of mcp/http for other folders.
export { type HttpGateway, type HttpOptions, runOnHttp } from './http.ts'
