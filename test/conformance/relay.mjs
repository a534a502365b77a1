// What the conformance suite starts for each scenario: hands it to the client that is running (client.ts), prints what that
// printed and ends with its exit code. Arguments: the client's address, the address of the scenario's server.
import { request } from 'node:http'

const [client = '', url = ''] = process.argv.slice(2)
const name = process.env.MCP_CONFORMANCE_SCENARIO ?? ''
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}')

const sent = request(client, { method: 'POST' }, async (response) => {
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  const { code, told } = JSON.parse(text)
  process.stderr.write(told)
  process.exitCode = code
})
sent.end(JSON.stringify({ name, context, url }))
