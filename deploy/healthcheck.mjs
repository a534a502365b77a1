// Exits with 0 if the gateway in this container answers, and with 1 otherwise. TOOLSHELF_HEALTH_URL names another URL than that of
// `mcp --http`, such as http://127.0.0.1:3388/health for `serve`, or one with https.
import http from 'node:http'
import https from 'node:https'

const url = new URL(process.env.TOOLSHELF_HEALTH_URL ?? 'http://127.0.0.1:3399/health')
const { get } = url.protocol === 'https:' ? https : http
// The certificate is made out to the name that clients use, not to loopback.
const request = get(url, { agent: false, timeout: 2000, rejectUnauthorized: false }, ({ statusCode }) => {
  process.exit(statusCode === 200 ? 0 : 1)
})
request.on('timeout', () => request.destroy(new Error('no answer within 2 s')))
request.on('error', ({ message }) => {
  console.error(message)
  process.exit(1)
})
