// Tears its answers to pieces: half. For other ways to break the protocol see bad.sh.
import { createInterface } from 'node:readline'
import { initialized, sleep, text, tool } from './wire.mjs'

const results = {
  initialize: initialized(),
  'tools/list': { tools: [tool('echo_back')] },
  'tools/call': text('right in the end'),
  ping: {},
}

const line = (message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`

/** Byte by byte at first, so that characters and lines are torn; several messages in one write as well. */
async function tear(message) {
  const bytes = Buffer.from(line({ method: 'notifications/über', params: {} }) + line(message))
  for (const byte of bytes.subarray(0, 90)) {
    process.stdout.write(Buffer.from([byte]))
    await sleep(0)
  }
  process.stdout.write(bytes.subarray(90))
}

let before = Promise.resolve()

createInterface({ input: process.stdin })
  .on('line', (received) => {
    const { id, method } = JSON.parse(received)
    if (id === undefined) return
    const result = results[method]
    const message =
      result === undefined ? { id, error: { code: -32601, message: 'unknown' } } : { id, result }
    before = before.then(() => tear(message))
  })
  .on('close', () => process.exit(0))
