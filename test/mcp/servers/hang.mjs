// Stops reading: reading (answers, then never reads again) | busy (reads nothing for a second once `quick` is called;
// `wait` is answered after that). For other ways to hang see bad.sh.
import { behaviour, serve, text, tool } from './wire.mjs'

let workDone
const waiting = new Promise((resolve) => {
  workDone = resolve
})

serve({
  'tools/list': () => ({ tools: [tool('wait'), tool('quick')] }),
  'tools/call': ({ name }) => {
    if (behaviour === 'busy') return name === 'wait' ? waiting.then(() => text('done')) : work()
    stopReading()
    return text('done')
  },
})

/** Answers what it was asked in the meantime, too. */
function work() {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000)
  setTimeout(workDone, 100)
  return text('done')
}

/** The pipe fills, and whoever writes to it must not wait for ever. */
function stopReading() {
  process.stdin.removeAllListeners('data')
  process.stdin.pause()
  setInterval(() => {}, 60_000)
}
