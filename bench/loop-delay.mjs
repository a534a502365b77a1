// Loaded into a process under test: on SIGUSR2 it appends to BENCH_LOOP_FILE how long its event loop was blocked at most
// since the last time. Two numbers in milliseconds: on the clock, and of CPU that the main thread used meanwhile, which
// is the blocking that the process itself causes, whatever else the machine does.
import { readFileSync, writeFileSync } from 'node:fs'

const RESOLUTION = 5
const THREAD = `/proc/self/task/${process.pid}/schedstat`
const cpu = () => Number(readFileSync(THREAD, 'latin1').split(' ', 1)[0]) / 1e6

let longest = { time: 0, cpu: 0 }
let last = { time: performance.now(), cpu: cpu() }

function tick() {
  const now = { time: performance.now(), cpu: cpu() }
  const wait = now.time - last.time - RESOLUTION
  longest.time = Math.max(longest.time, wait)
  longest.cpu = Math.max(longest.cpu, Math.min(wait, now.cpu - last.cpu))
  last = now
}

setInterval(tick, RESOLUTION).unref()
process.on('SIGUSR2', () => {
  tick()
  const { time, cpu: busy } = longest
  longest = { time: 0, cpu: 0 }
  writeFileSync(process.env.BENCH_LOOP_FILE, `${time.toFixed(1)} ${busy.toFixed(1)}\n`, { flag: 'a' })
})
