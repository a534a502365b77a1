// A minimal proxy in Node, as the lower bound of what a proxy costs: pipes requests and responses without reading them.
// Plain JavaScript, so that nothing else is loaded.
import { Agent, createServer, request } from 'node:http'

const target = new URL(process.argv[2])
const agent = new Agent({ keepAlive: true, maxSockets: 4096 })

const server = createServer((incoming, outgoing) => {
  const { method, url: path, headers } = incoming
  const options = { hostname: target.hostname, port: target.port, method, path, headers, agent }
  const onward = request(options, (answer) => {
    outgoing.writeHead(answer.statusCode, answer.headers)
    answer.pipe(outgoing)
    answer.once('error', () => outgoing.destroy())
  })
  onward.once('error', () => outgoing.destroy())
  outgoing.once('close', () => onward.destroy())
  incoming.pipe(onward)
})
server.listen(0, '127.0.0.1', () => process.send?.({ url: `http://127.0.0.1:${server.address().port}` }))
process.once('disconnect', () => process.exit())
