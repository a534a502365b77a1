// Reports calls to an audit file for ever, one in each turn of the event loop, and says how many it has reported.
import { writeSync } from 'node:fs'
import { createTraceStream, openAuditFile } from '../../src/node/index.ts'

const [file = ''] = process.argv.slice(2)
// A file that may not grow raises a signal, whose default would end the process; a full disk does not.
process.on('SIGXFSZ', () => {})
const audit = openAuditFile(file, {
  redact: (text) => text,
  notify: (message) => void writeSync(1, `${message}\n`),
})
const { trace } = createTraceStream(audit.write)
for (let number = 1; ; number++) {
  trace({ type: 'call', id: String(number), name: 'send', content: undefined })
  await new Promise((resolve) => setTimeout(resolve, 1))
  writeSync(1, `${number}\n`)
}
