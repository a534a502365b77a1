// Answers, then never reads again. For other ways to hang see bad.sh.
import { serve, text, tool } from './wire.mjs'

serve({
  'tools/list': () => ({ tools: [tool('wait'), tool('quick')] }),
  'tools/call'() {
    stopReading()
    return text('done')
  },
})

/** The pipe fills, and whoever writes to it must not wait for ever. */
function stopReading() {
  process.stdin.removeAllListeners('data')
  process.stdin.pause()
  setInterval(() => {}, 60_000)
}
