// Reports events of several kinds to an audit file for ever, without a pause, and says after each one how many it has
// reported.
import { writeSync } from 'node:fs'
import type { Trace } from '../../packages/core/src/events.ts'
import { openAuditFile } from '../../packages/core/src/node/audit-file.ts'
import { createTraceStream } from '../../packages/core/src/node/trace-stream.ts'

/** Waits while the pipe is full. */
function say(line: string): void {
  for (;;) {
    try {
      writeSync(1, `${line}\n`)
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
    }
  }
}

const [file = ''] = process.argv.slice(2)
// A file that may not grow raises a signal, whose default would end the process; a full disk does not.
process.on('SIGXFSZ', () => {})
const audit = openAuditFile(file, {
  redact: (text) => text,
  notify: (message) => say(message),
})
const { trace } = createTraceStream(audit.write)
const eventOf = (number: number): Trace => {
  if (number % 3 === 0) return { type: 'warning', message: `long ${'x'.repeat(number % 1900)}` }
  if (number % 3 === 1) return { type: 'call', id: String(number), name: 'send', content: undefined }
  return { type: 'loaded', names: [`tool-${number}`], by: 'search' }
}
for (let number = 1; ; number++) {
  trace(eventOf(number))
  say(String(number))
}
