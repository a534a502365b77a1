// Writes more than anyone can use: garbage (1 GB without a line end) | line (100 MB without one) | answer (of 100 MB), and
// without end: lines (not JSON) | newlines | braces (nearly JSON) | notifications | requests | answers (to nothing) |
// stderr | stderr-line. The tool `behind` answers after 8 MB of answers to nothing.
import { behaviour, serve, text, tool } from './wire.mjs'

const megabyte = 'x'.repeat(2 ** 20)

const answers = '{"jsonrpc":"2.0","id":987654321,"result":{}}\n'.repeat(2 ** 14)

const kinds = {
  garbage: () => flood(process.stdout, megabyte, 1024),
  lines: () => flood(process.stdout, 'this is no JSON\n'.repeat(4096)),
  newlines: () => flood(process.stdout, '\n'.repeat(2 ** 16)),
  braces: () => flood(process.stdout, '{x}\n'.repeat(2 ** 14)),
  requests: () => flood(process.stdout, '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'.repeat(2 ** 10)),
  notifications: () => flood(process.stdout, `${logMessage()}\n`.repeat(1024)),
  answers: () => flood(process.stdout, answers),
  stderr: () => flood(process.stderr, 'warning: everything is fine\n'.repeat(4096)),
  'stderr-line': () => flood(process.stderr, megabyte),
  line: () => flood(process.stdout, megabyte, 100),
}

const logMessage = () =>
  JSON.stringify({
    jsonrpc: '2.0',
    method: 'notifications/message',
    params: { level: 'info', data: 'again' },
  })

/** As fast as the reader takes it, so that the flood is the reader's problem and not our own memory's. */
async function flood(stream, chunk, times = Number.POSITIVE_INFINITY) {
  for (let time = 0; time < times; time += 1) {
    if (stream.write(chunk)) await new Promise(setImmediate)
    else await new Promise((resolve) => stream.once('drain', resolve))
  }
}

const calls = {
  big: ({ megabytes }) => text(megabyte.repeat(megabytes)),
  small: () => text('still here'),
  behind: async () => {
    await flood(process.stdout, answers, 12)
    return text('at last')
  },
}

serve({
  'tools/list'() {
    setTimeout(() => kinds[behaviour]?.(), 50)
    return { tools: Object.keys(calls).map((name) => tool(name)) }
  },
  'tools/call': ({ name, arguments: input }) => calls[name](input),
})

process.stdout.on('error', () => process.exit(1))
if (process.argv[3] === 'at-once') kinds[behaviour]()
