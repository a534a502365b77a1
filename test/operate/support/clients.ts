// The official MCP client over HTTP.
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type ClientOptions, connectWith } from '../../mcp/support/gateway.ts'

/** Connects to a gateway at this URL; the client is closed at the end of the test. */
export async function connectTo(url: string, options: ClientOptions & { readonly key?: string } = {}) {
  const { key, ...client } = options
  const requestInit = key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } }
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit })
  return { ...(await connectWith(transport, client)), transport }
}
