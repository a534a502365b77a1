// Breaks the protocol. In the messages: broken | half | bytes | noise | values | batch | wrong-ids | text-ids | twice |
// unasked | bare-errors | null-error. In the results: initialize | initialize-null | version | list | list-null | list-text | call |
// call-null | call-text.
import { createInterface } from 'node:readline'
import { behaviour, initialized, sleep, text, tool } from './wire.mjs'

const results = {
  initialize: { initialize: { nothing: 'of use' } },
  'initialize-null': { initialize: null },
  version: { initialize: initialized({ protocolVersion: '1999-01-01' }) },
  list: { 'tools/list': { tools: 'many' } },
  'list-null': { 'tools/list': null },
  'list-text': { 'tools/list': 'none today' },
  call: { 'tools/call': { content: 'not a list' } },
  'call-null': { 'tools/call': null },
  'call-text': { 'tools/call': 'fine' },
}

const right = {
  initialize: initialized(),
  'tools/list': { tools: [tool('echo_back')] },
  'tools/call': text('right in the end'),
  ping: {},
}

const line = (message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`
const write = (chunk) => process.stdout.write(chunk)

const ways = {
  broken: (message) => write(line(message).slice(0, -5).concat('\n')),
  half: inPieces,
  bytes: (message) =>
    write(Buffer.concat([Buffer.from([0xff, 0xfe, 0x00, 0x0a]), Buffer.from(line(message))])),
  noise: (message) => write(`Server ready!\n\n\r\n[info] ${'.'.repeat(500)}\n${line(message)}`),
  values: (message) => write(`null\n42\n"text"\n[]\n{}\n{"jsonrpc":"1.0"}\ntrue\n${line(message)}`),
  batch: (message) => write(`[${line(message).trim()}]\n`),
  'wrong-ids': ({ id, ...message }) => write(line({ id: 1_000_000, ...message })),
  'text-ids': ({ id, ...message }) => write(line({ id: String(id), ...message })),
  twice: (message) => write(line(message).repeat(2)),
  unasked: (message) =>
    write([-1, 'nobody', null, {}, [], true].map((id) => line({ ...message, id })).join('') + line(message)),
  'null-error': (message) => write(line({ error: null, ...message })),
  'bare-errors': ({ id }) => write(line({ id, error: {} })),
}

let before = Promise.resolve()

/** Byte by byte at first, so that characters and lines are torn; several messages in one write as well. */
function inPieces(message) {
  before = before.then(() => tear(message))
}

async function tear(message) {
  const bytes = Buffer.from(line({ method: 'notifications/über', params: {} }) + line(message))
  for (const byte of bytes.subarray(0, 90)) {
    write(Buffer.from([byte]))
    await sleep(0)
  }
  write(bytes.subarray(90))
}

createInterface({ input: process.stdin })
  .on('line', (received) => {
    const { id, method } = JSON.parse(received)
    if (id === undefined) return
    const result = { ...right, ...results[behaviour] }[method]
    const message =
      result === undefined ? { id, error: { code: -32601, message: 'unknown' } } : { id, result }
    const way = ways[behaviour] ?? ((message) => write(line(message)))
    way(message)
  })
  .on('close', () => process.exit(0))
